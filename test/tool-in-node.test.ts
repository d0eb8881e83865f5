import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const ROOT = new URL('..', import.meta.url).pathname

test('edgecall/tool imports in plain Node, where a tool can be called without a runtime', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tool-in-node-'))
  try {
    const { scripts, exports } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
    expect(exports['./tool']['node']).toBe('./dist/tool-node.js')
    const [, ...options] = scripts['build:node'].replace('dist/', `${folder}/`).split(' ')
    execFileSync(join(ROOT, 'node_modules/.bin/esbuild'), options, { cwd: ROOT })
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
    const program = `
      import * as v from 'valibot'
      import { defineTool, serveTools } from './tool-node.js'
      const greet = defineTool({ name: 'greet', description: 'Greets.', input: v.object({}), run: () => 'Hello' })
      const Worker = serveTools(greet)
      const { tools: [{ name, hash }] } = await new Worker({}, {}).describe()
      const request = { name, hash, arguments: {}, context: { callId: 'c', deadline: Date.now() + 60_000, values: {} } }
      console.log(JSON.stringify(await new Worker({}, {}).call(request)))`
    writeFileSync(join(folder, 'program.js'), program)
    const answer = JSON.parse(execFileSync(process.execPath, [join(folder, 'program.js')], { encoding: 'utf8' }))
    expect(answer).toEqual({ ok: true, content: [{ type: 'text', text: 'Hello' }] })
  } finally {
    rmSync(folder, { recursive: true })
  }
})
