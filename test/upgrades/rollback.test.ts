import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { apiKey, bearer, withKeys } from '../fixtures/keys.ts'
import { type Installation, makeInstallation } from './installation.ts'
import { countLosses } from './databases.ts'
import { releaseNames } from './releases.ts'
import { PARKED, type State, STATES, STOPS } from './states.ts'
import { eventually } from '../fixtures/eventually.ts'

const SCOPES = ['chat', 'tools:read', 'tools:admin', 'approve', 'metrics', 'backup', 'keys', 'schedules']
const KEY = apiKey('owner', { id: 'owner', scopes: SCOPES, budget: { tokens: 10_000_000, per: 'month' } })
const VARS = {
  ...withKeys(KEY),
  MODELS: 'openai/*',
  OUTCOME_SECRET: 'signs-what-this-edge-makes',
  MODEL_WINDOWS: JSON.stringify({ 'openai/small': { contextTokens: 4000, outputTokens: 500 } }),
}

/** The stored definition of a tool that answers always the same. */
const openingHours = (text: string) => ({
  description: 'Tells the opening hours.',
  inputSchema: { type: 'object' },
  static: { text },
})
const EVERY_DAY = { everySeconds: 86_400, run: { input: 'hello' } }

/** Who takes up what was made before a rollback: the release, or the edge of today after it. */
type Who = 'released' | 'today'

/**
 * What the edge of today has stored is taken up by the packed edge of a release, as after a rollback, and then by that of
 * today again. Whatever the release cannot read, or makes unreadable for today's, fails here.
 */
describe.each(releaseNames())('after a rollback to %s,', (release) => {
  let edge: Installation
  let isHolding = true
  /** The runs of the states, by conversation. */
  const runs = new Map<string, string>()
  /** Copies of conversations, and the run of a request that is repeated. */
  const stored = { copy: '', once: '', key: '', otherKey: '', removedKey: '' }

  const conversationOf = ({ name }: State, who: Who) => `${name}-${who}`

  async function make(state: State, who: Who): Promise<void> {
    const conversation = conversationOf(state, who)
    expect(await edge.ask('/conversations', { id: conversation })).toMatchObject({ id: conversation })
    runs.set(conversation, await state.make(edge, conversation))
  }

  async function end(state: State, who: Who): Promise<void> {
    const conversation = conversationOf(state, who)
    const run = runs.get(conversation) ?? ''
    await state.proceed?.(edge, conversation, run)
    const record = await edge.untilStatus(conversation, run, 'completed', 'failed', 'cancelled')
    const answer = state.answer ?? expect.stringMatching(/^Read \d+ messages\.$/)
    expect(record).toMatchObject({ status: state.end ?? 'completed', answer })
  }

  const put = (path: string, json: unknown) => edge.ask(path, json, { method: 'PUT' })
  const askAs = (key: string) => edge.ask('/caller', undefined, { headers: bearer(key) })
  const repeat = () =>
    edge.ask('/conversations/once/runs', { input: 'hello' }, { headers: { 'idempotency-key': 'order-1' } })
  const runSchedule = (name: string, key: string) =>
    edge.ask(`/schedules/${name}/run`, {}, { headers: { 'idempotency-key': key } })
  const outcomes = async (name: string) =>
    (await edge.ask(`/schedules/${name}`)).history.map(({ outcome }: { outcome: string }) => outcome)

  async function restart(version?: string): Promise<void> {
    await edge.kill()
    await edge.start(version)
  }

  beforeAll(async () => {
    edge = await makeInstallation({
      isHeld: (point) => isHolding && STOPS.some((stop) => stop.test(point)),
      vars: VARS,
      headers: bearer('owner'),
    })
    await edge.start()
    // A run is parked after three losses of the object that resumes it.
    await Promise.all((['released', 'today'] as const).map((who) => make(PARKED, who)))
    await edge.kill()
    for (const run of runs.values()) countLosses(edge.state, run)
    await edge.start()
    for (const [conversation, run] of runs) await edge.untilStatus(conversation, run, 'parked')
    await Promise.all(STATES.flatMap((state) => [make(state, 'released'), make(state, 'today')]))
    for (const text of ['From 9 to 5.', 'From 9 to 6.']) await put('/tools/openingHours', openingHours(text))
    for (const name of ['daily', 'paused']) await put(`/schedules/${name}`, EVERY_DAY)
    await edge.ask('/schedules/paused', { paused: true }, { method: 'PATCH' })
    await runSchedule('daily', 'first')
    stored.key = (await edge.ask('/keys', { id: 'app', tenant: 'acme', scopes: ['chat'] })).key
    stored.otherKey = (await edge.ask('/keys', { id: 'other', tenant: 'acme', scopes: ['chat'] })).key
    stored.removedKey = (await edge.ask('/keys', { id: 'old', tenant: 'acme', scopes: ['chat'] })).key
    await edge.ask('/keys/old', undefined, { method: 'DELETE' })
    for (const id of ['once', 'deleted', 'doomed']) await edge.ask('/conversations', { id })
    stored.once = (await repeat()).id
    await edge.ask('/conversations/deleted', undefined, { method: 'DELETE' })
    for (const id of ['copied-released', 'copied-today']) {
      await edge.ask('/conversations', { id })
      await edge.untilStatus(id, await edge.startRun(id, 'lookUp'), 'completed')
    }
    stored.copy = await edge.ask('/backups/copied-released')
    isHolding = false
    await restart(release)
  })
  afterAll(() => edge?.close())

  describe.each(['released', 'today'] as const)('in the edge that is %s,', (who) => {
    if (who === 'today') beforeAll(() => restart())

    test('the lists are complete', async () => {
      const conversations: { id: string }[] = await edge.ask('/conversations?limit=1000')
      const ids = [...[PARKED, ...STATES].flatMap((state) => [`${state.name}-released`, `${state.name}-today`]), 'once']
      const rest = ['copied-released', 'copied-today', ...(who === 'released' ? ['doomed'] : [])]
      expect(conversations.map(({ id }) => id)).toEqual([...ids, ...rest].toSorted())
      const approvals: { conversation: string; path?: object[] }[] = await edge.ask('/approvals')
      const waiting = ['approval', 'refused', 'program', 'agent', 'agents'].length
      expect(approvals).toHaveLength(who === 'released' ? 2 * waiting : waiting)
    })

    test.each([PARKED, ...STATES])('a run that was $name continues', (state) => end(state, who))

    test('a request that is repeated has the run of the first one', async () => {
      expect(await repeat()).toMatchObject({ id: stored.once, status: 'completed' })
    })

    test('a conversation is deleted, and those that were deleted stay so', async () => {
      await edge.ask('/conversations/doomed', undefined, { method: 'DELETE' })
      for (const id of ['doomed', 'deleted'])
        expect(await edge.ask(`/conversations/${id}/runs`)).toEqual({ status: 410, code: 'conversation_deleted' })
    })

    test('stored definitions are listed, called, written and rolled back', async () => {
      const versions: { hash: string }[] = await edge.ask('/tools/openingHours/versions')
      expect(versions).toHaveLength(who === 'released' ? 2 : 4)
      // The copy in KV follows a write within a second or two, also one of the other edge.
      const answerIs = (text: string) =>
        eventually(async () =>
          expect(await edge.ask('/tools/openingHours/call', { arguments: {} })).toMatchObject({ content: [{ text }] }),
        )
      await answerIs(who === 'released' ? 'From 9 to 6.' : 'From 9 to 5.')
      await put('/tools/openingHours', openingHours(`As ${who}.`))
      await answerIs(`As ${who}.`)
      await edge.ask('/tools/openingHours/rollback', { hash: versions.at(-1)?.hash })
      await answerIs('From 9 to 5.')
    })

    test('schedules keep their history, and run once for a key', async () => {
      expect(await edge.ask('/schedules')).toMatchObject([
        { name: 'daily', last: { outcome: 'started' } },
        { name: 'paused', paused: true },
      ])
      const before = await outcomes('daily')
      await runSchedule('daily', 'first')
      expect(await outcomes('daily')).toEqual(before)
      await runSchedule('daily', who)
      expect(await outcomes('daily')).toEqual([...before, 'started'])
      await put('/schedules/paused', { ...EVERY_DAY, everySeconds: 7200, paused: true })
    })

    test('stored keys work, and those that were removed do not', async () => {
      expect(await askAs(stored.key)).toMatchObject({ tenant: 'acme', scopes: ['chat'] })
      expect(await askAs(stored.removedKey)).toEqual({ status: 401, code: 'unauthorized' })
      expect(await askAs(stored.otherKey)).toMatchObject(who === 'released' ? { tenant: 'acme' } : { status: 401 })
      expect(await edge.ask('/keys')).toMatchObject({
        keys: [{ id: 'app' }, { id: 'other', disabled: who === 'today' }],
      })
      const changes = { disabled: who === 'released' }
      expect(await edge.ask('/keys/other', changes, { method: 'PATCH' })).toMatchObject({ id: 'other', ...changes })
    })

    test('a copy of the other edge is restored in place of what was deleted', async () => {
      const id = `copied-${who}`
      await edge.ask(`/conversations/${id}`, undefined, { method: 'DELETE' })
      expect(await put(`/backups/${id}`, stored.copy)).toEqual({ id, signed: true })
      const run = await edge.startRun(id, 'hello')
      expect(await edge.untilStatus(id, run, 'completed')).toMatchObject({ answer: 'Read 5 messages.' })
      stored.copy = await edge.ask('/backups/copied-today')
    })

    test('each run is listed and counted once', async () => {
      // Runs are reported a moment after their end.
      await expect
        .poll(
          async () => {
            const runs: { conversation: string; ended?: number }[] = await edge.ask('/runs?limit=1000&agents=true')
            const metrics: string = await edge.ask('/metrics')
            const series = [...metrics.matchAll(/^edgecall_runs_total\{.*\} (\d+)$/gm)]
            const { usage } = await edge.ask('/usage?by=key')
            const ended = runs.filter((run) => run.ended !== undefined).length
            // By now, the release may have tried that run again, or not.
            const open = runs.filter((run) => run.ended === undefined && run.conversation !== 'parked-today').length
            const counted = series.reduce((sum, [, count]) => sum + Number(count), 0)
            return { open, deleted: counted - ended, notUsed: counted - usage[0].runs }
          },
          { timeout: 30_000 },
        )
        .toEqual({ open: who === 'released' ? 10 : 0, deleted: who === 'released' ? 1 : 2, notUsed: 0 })
      const conversations = await edge.ask('/conversations?limit=1000')
      const { runs, tokens, quotas } = await edge.ask('/usage')
      expect([runs > 0, tokens > 0, quotas.conversations.used]).toEqual([true, true, conversations.length])
    })
  })
})
