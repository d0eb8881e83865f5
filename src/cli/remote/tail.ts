import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { isObject } from '../../contract/json.ts'
import type { Terminal } from '../command/terminal.ts'
import { runLog } from '../dev/run-log.ts'
import { Failure } from '../failure.ts'
import { findWorkers } from '../workers.ts'
import { spawnWrangler, UNATTENDED } from '../wrangler.ts'

export interface TailOptions {
  readonly root: string
  readonly env: NodeJS.ProcessEnv
  readonly terminal: Terminal
  readonly signal: AbortSignal
}

/**
 * Follows the logs of the deployed edge until the signal aborts: each run as a tree, under `--json` each entry as it
 * is. Runs are logged by edges with `LOG` set to `runs`. Throws a Failure with wrangler's reason if it ends before.
 */
export async function tail({ root, env, terminal, signal }: TailOptions): Promise<void> {
  const { edge } = findWorkers(root)
  if (edge.vars['LOG'] !== 'runs') {
    terminal.print(`${edge.config} does not set LOG = "runs" in [vars]: only faults are logged, no runs.\n`)
  }
  const child = spawnWrangler(['tail', '-c', edge.config, '--format', 'json'], {
    root,
    env: { ...env, ...UNATTENDED },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  if (!child.stdout || !child.stderr) throw new Failure('wrangler could not be started.')
  signal.addEventListener('abort', () => child.kill('SIGTERM'), { once: true })
  const problems = text(child.stderr)
  const log = runLog(terminal.print, edge.vars['LOG'] === 'runs')
  const read = tailReader((line) => {
    terminal.emit(parsed(line))
    log(line)
  })
  createInterface({ input: child.stdout }).on('line', read)
  await once(child, 'close')
  signal.throwIfAborted()
  throw new Failure('wrangler tail has ended. It wrote:', (await problems).trim())
}

/** Reads the events of `wrangler tail --format json`, each over several lines, and passes on the lines logged in them. */
export function tailReader(onLog: (line: string) => void): (line: string) => void {
  let collected = ''
  return (line) => {
    collected = line === '{' ? line : collected + line
    const event = line === '}' || (line.startsWith('{') && line.endsWith('}')) ? parsed(collected) : undefined
    if (!isObject(event)) return
    collected = ''
    for (const entry of Array.isArray(event['logs']) ? event['logs'].filter(isObject) : []) {
      const { message } = entry
      onLog((Array.isArray(message) ? message : [message]).map(String).join(' '))
    }
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
