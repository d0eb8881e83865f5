import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { readConfig } from '../../src/contract/config.ts'
import { DEFAULT_LIMITS, initialLimits, LIMITS, lowerLimits } from '../../src/contract/limits.ts'
import { chooseOptions, RUN_OPTIONS } from '../../src/contract/run-options.ts'

const SOURCES = readdirSync('src', { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts'))
  .map((file) => ({ file, text: readFileSync(`src/${file}`, 'utf8') }))

describe('the tables of limits and options', () => {
  test.each(Object.values(LIMITS))('are the only place in src that names $variable', ({ variable }) => {
    const files = SOURCES.filter(({ text }) => new RegExp(`['"]${variable}['"]`).test(text)).map(({ file }) => file)
    expect(files).toEqual(['contract/limits.ts'])
  })

  test.each(Object.values(RUN_OPTIONS))('are the only place in src that names the option $variable', ({ variable }) => {
    const files = SOURCES.filter(({ text }) => new RegExp(`['"]${variable}['"]`).test(text)).map(({ file }) => file)
    expect(files).toEqual(['contract/run-options.ts'])
  })

  test('set each limit by its variable', () => {
    const vars = Object.fromEntries(Object.values(LIMITS).map(({ variable }, index) => [variable, String(index + 2)]))
    const expected = Object.fromEntries(Object.keys(LIMITS).map((name, index) => [name, index + 2]))
    expect(readConfig(vars).limits).toEqual(expected)
  })

  test('give the initial limits of each library', () => {
    expect(initialLimits('spring-ai')).toEqual({
      ...DEFAULT_LIMITS,
      steps: 1_000_000,
      concurrentCalls: 1,
      sameCalls: 1_000_000,
    })
    expect(initialLimits('langchain4j')).toEqual({
      ...DEFAULT_LIMITS,
      steps: 100,
      calls: 1_000_000,
      callsPerTool: 1_000_000,
      concurrentCalls: 1,
      sameCalls: 1_000_000,
    })
  })
})

test('a request lowers a limit and never raises it', () => {
  const limits = { ...DEFAULT_LIMITS, tools: { pay: 2 } }
  expect(lowerLimits(limits, { steps: 5, calls: 1_000, tokens: 10, tools: { pay: 9, look: 3 } })).toEqual({
    ...DEFAULT_LIMITS,
    steps: 5,
    tokens: 10,
    tools: { pay: 2, look: 3 },
  })
})

test('an option of a request wins over the edge, and compat of a request brings its defaults', () => {
  const edge = {
    execution: 'edge',
    toolErrors: 'model',
    onLimit: 'answer',
    compensate: false,
    eager: true,
    cancelOnDisconnect: false,
    code: 'off',
  } as const
  expect(chooseOptions(edge, { eager: false })).toEqual({ ...edge, eager: false })
  expect(chooseOptions(edge, { compat: 'spring-ai' })).toEqual({ ...edge, onLimit: 'fail' })
  expect(chooseOptions({ ...edge, compat: 'langchain4j' }, { compat: 'spring-ai' })).toEqual(edge)
})
