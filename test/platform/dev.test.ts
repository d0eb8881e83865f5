import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { freePort, start } from '../cli/command.ts'

const ROOT = new URL('../..', import.meta.url).pathname
const EDGE = join(ROOT, 'test/fixtures/greedy-edge')

test('`edgecall dev --plan` says which limit was passed, where, and leaves no file behind', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'plan-test-'))
  const config = readFileSync(join(EDGE, 'wrangler.toml'), 'utf8')
  writeFileSync(
    join(folder, 'wrangler.toml'),
    config.replace('main = "index.ts"', `main = "${join(EDGE, 'index.ts')}"`),
  )
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  const port = String(await freePort())
  const command = start(process.execPath, [join(ROOT, 'src/cli/main.ts'), 'dev', '--plan', 'free'], {
    cwd: folder,
    env: { PORT: port, API_KEYS: '[]', SYSTEM_PROMPT: 'x'.repeat(6000) },
  })
  onTestFinished(() => {
    command.kill()
    rmSync(folder, { recursive: true, force: true })
  })
  await command.until('Serving ')
  expect(command.out()).toContain('They are held to the limits of Cloudflare’s Free plan.\n')
  expect(command.out()).toContain(
    '! platform.limit  limit variable  plan free  worker greedy-edge  where its configuration  SYSTEM_PROMPT has 6000 bytes, and 5120 are allowed.\n',
  )
  const response = await fetch(`http://127.0.0.1:${port}/subrequests?count=51`)
  expect(await response.json()).toEqual([expect.stringMatching(/^! Too many subrequests/)])
  await command.until(
    '! platform.limit  limit subrequests  plan free  worker greedy-edge  where GET /subrequests  OTHERS.echo is more than the 50 subrequests of an invocation.',
  )
  process.kill(command.pid, 'SIGINT')
  await command.ended
  expect(readdirSync(folder).sort()).toEqual(['.wrangler', 'node_modules', 'wrangler.toml'])
})

test('`--plan` knows two plans', async () => {
  const command = start(process.execPath, [join(ROOT, 'src/cli/main.ts'), 'dev', '--plan', 'pro'], { cwd: ROOT })
  expect(await command.ended).toBe(1)
  expect(command.errors()).toContain('--plan must be free or paid, not "pro".')
})
