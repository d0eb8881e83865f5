import { once } from 'node:events'
import { createServer } from 'node:net'
import { Failure } from './failure.ts'

const DEFAULT = 8787

/** Parses the value of `PORT`; the default is 8787. Throws a Failure if it is not a port. */
export function readPort(text: string | undefined): number {
  if (text === undefined || text === '') return DEFAULT
  const port = Number(text)
  if (Number.isInteger(port) && port >= 1 && port <= 65_535) return port
  throw new Failure(`PORT must be a whole number from 1 to 65535, not "${text}".`)
}

/** Throws a Failure if nothing can listen on that port of 127.0.0.1. */
export async function checkFree(port: number): Promise<void> {
  const server = createServer().listen(port, '127.0.0.1')
  try {
    await once(server, 'listening')
  } catch (error) {
    throw portFailure(port, error)
  }
  server.close()
  await once(server, 'close')
}

function portFailure(port: number, error: unknown): Failure {
  const other = `PORT=${port === 65_535 ? DEFAULT : port + 1} npm start`
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (code === 'EADDRINUSE') return new Failure(`Port ${port} is taken.`, `End what uses it, or use another: ${other}`)
  return new Failure(`Port ${port} cannot be used: ${String(error)}`, `Use another: ${other}`)
}
