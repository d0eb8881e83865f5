import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll } from 'vitest'
import { type Command, freePort, start } from '../cli/command.ts'

/** `npm start` on a free port, with a store of its own, for the tests beside it. */
export function npmStart(): { readonly url: string } {
  const edge = { url: '' }
  const state = mkdtempSync(join(tmpdir(), 'edgecall-state-'))
  let command: Command

  beforeAll(async () => {
    const port = await freePort()
    edge.url = `http://127.0.0.1:${port}`
    command = start('npm', ['start', '--ignore-scripts'], { env: { PORT: String(port), STATE_DIR: state } })
    await command.until('Tokyo?"}\'\n')
  })
  afterAll(async () => {
    command?.kill()
    await command?.ended
    rmSync(state, { recursive: true, force: true })
  })
  return edge
}
