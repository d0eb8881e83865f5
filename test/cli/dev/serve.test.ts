import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { Failure, Stopped } from '../../../src/cli/failure.ts'
import { projectChanges, serveForever } from '../../../src/cli/dev/dev.ts'
import { SAVES } from './saves.ts'

const TOOL = 'tools/dice/index.ts'

/**
 * Serves a project whose one file tells what becomes of its Workers: `starts` for ever, `fails` to start, or `serves` until a
 * change. Returns the reader of what happens, one event after another.
 */
function project(text: string) {
  const root = mkdtempSync(join(tmpdir(), 'serve-test-'))
  mkdirSync(join(root, 'tools/dice'), { recursive: true })
  const path = join(root, TOOL)
  writeFileSync(path, text)
  const stop = new AbortController()
  const events: string[] = []
  let wake = () => {}
  const note = (event: string) => {
    events.push(event)
    wake()
  }
  const changes = projectChanges(root, join(root, 'state'), stop.signal)
  const serving = serveForever<string>(
    {
      play: async ({ signal, work }) => {
        const version = readFileSync(path, 'utf8')
        note(version)
        if (version.startsWith('fails')) throw new Failure('It cannot start.', 'Correct it.')
        if (version.startsWith('breaks')) throw new Error('A defect.')
        if (version.startsWith('starts')) await aborted(signal)
        await work(version)
      },
      serve: async (version) => {
        await changes.next(stop.signal)
        // What a Worker does whose runtime ends when it is reloaded.
        if (version.startsWith('serves, then ends')) throw new Failure('It has ended.')
      },
      print: (text) => note(text.trim()),
    },
    changes,
    stop.signal,
  )
  serving.catch(() => {})
  onTestFinished(async () => {
    stop.abort(new Stopped('SIGINT'))
    await serving.catch(() => {})
    rmSync(root, { recursive: true })
  })
  return {
    path,
    serving,
    stop,
    /** Waits for an event, and returns all that came before it since the last one. */
    until: async (event: string): Promise<string[]> => {
      while (!events.includes(event)) {
        const { promise, resolve } = Promise.withResolvers<void>()
        wake = resolve
        await promise
      }
      return events.splice(0, events.indexOf(event) + 1).slice(0, -1)
    },
  }
}

async function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error))
    if (signal.aborted) reject(signal.reason as Error)
  })
}

const RESTART = 'Restarting, since the files have changed'
const FAILURE = 'It cannot start.\nCorrect it.\nWaiting for a change of the files…'
const END = 'It has ended.\nWaiting for a change of the files…'

describe.each(Object.entries(SAVES))('a correction that is saved %s', (_, save) => {
  test('is followed by Workers that are being started', async () => {
    const { path, until } = project('starts')
    await until('starts')
    save(path, 'serves')
    expect(await until('serves')).toEqual([RESTART])
  })

  test('is followed after the first start has failed, and after the next one has', async () => {
    const { path, until } = project('fails')
    await until('fails')
    save(path, 'fails again')
    expect(await until('fails again')).toEqual([FAILURE, RESTART])
    save(path, 'serves')
    expect(await until('serves')).toEqual([FAILURE, RESTART])
  })

  test('is followed by Workers that serve', async () => {
    const { path, until } = project('serves')
    await until('serves')
    save(path, 'serves two')
    expect(await until('serves two')).toEqual([RESTART])
  })

  test('is followed after Workers that served have ended', async () => {
    const { path, until } = project('serves, then ends')
    await until('serves, then ends')
    save(path, 'fails')
    await until(END)
    save(path, 'serves')
    expect((await until('serves')).at(-1)).toBe(RESTART)
  })
})

test('a file that has no code is a correction too, of Workers that do not start', async () => {
  const { path, until } = project('fails')
  await until('fails')
  writeFileSync(join(path, '../schema.sql'), 'create table t')
  expect(await until('fails')).toEqual([FAILURE, RESTART])
})

test('a signal ends all with its reason, and a defect with its error', async () => {
  const waiting = project('fails')
  await waiting.until('fails')
  waiting.stop.abort(new Stopped('SIGTERM'))
  await expect(waiting.serving).rejects.toThrow(new Stopped('SIGTERM'))
  await expect(project('breaks').serving).rejects.toThrow('A defect.')
})
