import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { findWorkers, unbound } from '../../src/cli/workers.ts'

/** A repository of an edge with these bindings, and tool Workers with these. */
function repository(edge: Record<string, string>, tools: Record<string, Record<string, string>>): string {
  const root = mkdtempSync(join(tmpdir(), 'workers-test-'))
  onTestFinished(() => rmSync(root, { recursive: true }))
  const configOf = (name: string, services: Record<string, string>) =>
    [
      `name = "${name}"`,
      ...Object.entries(services).map(
        ([binding, service]) => `[[services]]\nbinding = "${binding}"\nservice = "${service}"`,
      ),
    ].join('\n')
  writeFileSync(join(root, 'wrangler.toml'), configOf('edge', edge))
  for (const [name, services] of Object.entries(tools)) {
    mkdirSync(join(root, 'tools', name), { recursive: true })
    writeFileSync(join(root, 'tools', name, 'wrangler.toml'), configOf(name, services))
  }
  return root
}

test('Workers without a service binding to them are reported', () => {
  const tools = { clock: { STORE: 'store' }, dice: {}, definitions: {}, store: {} }
  const root = repository({ TOOL_CLOCK: 'clock', DEFINITIONS: 'definitions' }, tools)
  expect(unbound(findWorkers(root))).toEqual(['dice'])
})

test('a binding to a tool Worker that does not exist is refused', () => {
  const root = repository({ TOOL_DICE: 'dies' }, { dice: {}, clock: {} })
  expect(() => unbound(findWorkers(root))).toThrow(
    'wrangler.toml binds TOOL_DICE to "dies", and no Worker has that name.',
  )
})
