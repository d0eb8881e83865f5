import { spawn } from 'node:child_process'
import { once } from 'node:events'

export interface ModelServer {
  /** The base URL of its Chat Completions API. */
  readonly url: string
  stop(): void
}

/** Starts the scripted model in a process of its own, so that its work is not counted with that of the subjects. */
export async function startModelServer(): Promise<ModelServer> {
  const main = new URL('model-process.ts', import.meta.url).pathname
  const child = spawn(process.execPath, [main], { stdio: ['pipe', 'pipe', 'inherit'] })
  const [port] = await once(child.stdout, 'data')
  return { url: `http://127.0.0.1:${String(port).trim()}/v1`, stop: () => child.kill() }
}
