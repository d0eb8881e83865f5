import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { setGuard } from '../../src/cli/dev-server.ts'
import { family, killAll, type Process, stillRunning } from '../../src/cli/processes.ts'
import { eventually } from '../fixtures/eventually.ts'

/** Runs a script in a Node of its own; whatever it starts ends with the test. */
function node(script: string): number {
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  return endLater(child.pid!)
}

function endLater(pid: number): number {
  onTestFinished(() => killAll(family(pid)))
  return pid
}

async function familyOf(pid: number, size: number): Promise<Process[]> {
  await eventually(() => expect(family(pid)).toHaveLength(size))
  return family(pid)
}

function folderHere(): string {
  const folder = mkdtempSync(join(tmpdir(), 'guard-test-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

test('a process family is a process with all its descendants', async () => {
  const pid = node(`
    import { spawn } from 'node:child_process'
    spawn('sh', ['-c', 'sleep 60 & wait'])
    setInterval(() => {}, 1000)
  `)
  const [first, second, third] = await familyOf(pid, 3)
  expect([first!.pid, second!.parent, third!.parent]).toEqual([pid, pid, second!.pid])
  process.kill(second!.pid, 'SIGKILL')
  await eventually(() => expect(stillRunning([first!, second!, third!])).toEqual([first, third]))
  process.kill(third!.pid, 'SIGKILL')
  await eventually(() => expect(stillRunning([third!])).toEqual([]))
})

test('a reused process id is a different process', () => {
  const [own] = family(process.pid)
  expect(stillRunning([own!, { ...own!, started: 'earlier' }])).toEqual([own])
})

test('a guard ends its process and removes its folder and its file when its owner is killed', async () => {
  const folder = folderHere()
  const file = join(folderHere(), 'of-guard.json')
  writeFileSync(file, '{}')
  const pid = node(`
    import { spawn } from 'node:child_process'
    import { setGuard } from ${JSON.stringify(new URL('../../src/cli/dev-server.ts', import.meta.url).href)}
    setGuard({ pid: spawn('sleep', ['60']).pid, paths: ${JSON.stringify([folder, file])} })
  `)
  const members = await familyOf(pid, 3)
  process.kill(pid, 'SIGKILL')
  await eventually(() => expect(stillRunning(members)).toEqual([]))
  expect([existsSync(folder), existsSync(file)]).toEqual([false, false])
})

test('a released guard leaves the process and the folder alone', async () => {
  const folder = folderHere()
  const child = spawn('sleep', ['60'])
  endLater(child.pid!)
  const before = family(process.pid)
  const guard = setGuard({ pid: child.pid!, paths: [folder] })
  const shell = family(process.pid).filter(({ pid }) => !before.some((each) => each.pid === pid))
  guard.release()
  await eventually(() => expect(stillRunning(shell)).toEqual([]))
  expect(family(child.pid!)).toHaveLength(1)
  expect(existsSync(folder)).toBe(true)
  child.kill()
  await once(child, 'exit')
})
