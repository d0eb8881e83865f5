#!/usr/bin/env node
/** The command `edgecall`, which runs in Node only. Code that runs in a Worker must never import it. */
import { runCommand } from './command/run.ts'
import { COMMANDS } from './table.ts'

process.exitCode = await runCommand(COMMANDS, process.argv.slice(2))
