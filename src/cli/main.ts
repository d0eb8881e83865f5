#!/usr/bin/env node
/** The command `edgecall`, which runs in Node only. Code that runs in a Worker must never import it. */
import { inspect } from 'node:util'
import { runCommand } from './command/run.ts'
import { printError } from './command/terminal.ts'
import { COMMANDS } from './table.ts'

try {
  process.exitCode = await runCommand(COMMANDS, process.argv.slice(2))
} catch (error) {
  // A defect of the command. Its message may quote what others have written.
  printError(`${inspect(error)}\n`)
  process.exitCode = 1
}
