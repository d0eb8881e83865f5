import { expect, test } from 'vitest'
import type { Target } from '../../../src/cli/check/target.ts'
import { reasonsNotToAnswer } from '../../../src/cli/deploy/answering.ts'
import { readTargets } from '../../../src/cli/check/target.ts'
import { type Step, strangers } from '../../../src/cli/deploy/plan.ts'
import { finished, type Manifest, restored } from '../../../src/cli/deploy/record.ts'
import { makeProject, PROJECT } from '../../fixtures/account/project.ts'

async function edgeOf(vars = ''): Promise<Target> {
  const project = makeProject({ 'wrangler.toml': `${PROJECT['wrangler.toml']}\n[vars]\n${vars}\n` })
  try {
    const { targets } = await readTargets({ root: project.root, environment: 'production' })
    const edge = targets.at(-1)
    if (!edge) throw new Error('no edge')
    return edge
  } finally {
    project.remove()
  }
}

async function stepOf(message: string): Promise<Step> {
  const target = await edgeOf()
  const bundle = { target, folder: '', config: '', hash: 'h', size: 1, gzip: 1 }
  const origin = { trigger: 'upload', etag: 'v1', author: '', at: '' }
  const live = [{ id: 'v1', percent: 100, tag: '', message, ...origin, bindings: [] }]
  return { bundle, live, isCurrent: false, foreign: [] }
}

const ADOPTED = { project: 'p1', record: undefined, adopted: [] }

test('a Worker of the account that this project did not deploy is refused unless it is adopted or recorded', async () => {
  const ours = await stepOf('edgecall p1 a1')
  const theirs = await stepOf('edgecall p2 a1')
  expect(strangers([ours], ADOPTED)).toEqual([])
  expect(strangers([theirs], ADOPTED)).toEqual([
    {
      file: 'wrangler.toml',
      message: 'The account has a Worker acme that is not of this project.',
      remedy:
        'Set "edgecall": { "prefix": "…" } in package.json for names of your own, or overwrite it with --adopt acme.',
    },
  ])
  expect(strangers([theirs], { ...ADOPTED, adopted: ['acme'] })).toEqual([])
  const worker = { name: 'acme', role: 'edge', version: 'v0', hash: '', size: 1, gzip: 1, tools: [] } as const
  const record = { format: 1, project: 'p1', previous: [], current: manifest('m1', [worker]) } as const
  expect(strangers([theirs], { ...ADOPTED, record })).toEqual([])
})

test('a deployment says why its edge will refuse requests', async () => {
  const none: ReadonlySet<string> = new Set()
  expect(reasonsNotToAnswer(await edgeOf(), none)).toEqual([
    'It answers 503 to everyone: it has neither API_KEYS nor IDENTITY_PROVIDERS. Set the secret API_KEYS.',
    'Runs that name no model are refused: MODEL is not set in wrangler.toml.',
  ])
  const configured = await edgeOf('MODEL = "openai/gpt-4.1-mini"')
  expect(reasonsNotToAnswer(configured, new Set(['API_KEYS']))).toEqual([
    'Runs of openai/gpt-4.1-mini fail: the secret OPENAI_API_KEY is not set.',
  ])
  expect(reasonsNotToAnswer(configured, new Set(['API_KEYS', 'OPENAI_API_KEY']))).toEqual([])
  expect(reasonsNotToAnswer(await edgeOf('AUTH = "open"\nMODEL = "workers-ai/x"'), none)).toEqual([
    'It answers 503 to everyone: AUTH = "open" is for this machine alone. Unset it in wrangler.toml.',
  ])
})

function manifest(id: string, workers: Manifest['workers'] = []): Manifest {
  return { id, at: '2026-11-23T00:00:00Z', environment: 'production', workers, definitions: [] }
}

test('the record keeps ten earlier manifests, and a rollback drops those after the one that it restores', () => {
  const worker = { name: 'acme', role: 'edge', version: 'v1', size: 1, gzip: 1, tools: [] } as const
  const changed = (id: string) => manifest(id, [{ ...worker, hash: id }])
  let record = finished({ format: 1, project: 'p1', previous: [] }, changed('m0'))
  for (let number = 1; number <= 12; number++) record = finished(record, changed(`m${number}`))
  expect(record.current?.id).toBe('m12')
  expect(record.previous.map(({ id }) => id)).toEqual(['m11', 'm10', 'm9', 'm8', 'm7', 'm6', 'm5', 'm4', 'm3', 'm2'])
  const back = restored(record, changed('m9'))
  expect(back.current?.id).toBe('m9')
  expect(back.previous.map(({ id }) => id)).toEqual(['m8', 'm7', 'm6', 'm5', 'm4', 'm3', 'm2'])
})
