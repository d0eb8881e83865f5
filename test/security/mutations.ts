/** A control that is taken away, and the test that must then fail. */
export interface Mutation {
  /** What no longer holds. */
  readonly control: string
  /** The file that enforces it, in `src`. */
  readonly file: string
  /** A text of the file, which occurs once, and what takes its place. */
  readonly text: string
  readonly replacement: string
  /** A test file in `test` that fails without the control. */
  readonly test: string
}

/** `npm run test:mutations` takes away one after another. */
export const MUTATIONS: readonly Mutation[] = [
  {
    control: 'a tool is there only for the scopes and tenants of its policies',
    file: 'host/policy/source.ts',
    text: 'return isAllowed(caller) ? [withPause(tool, caller, breaker)] : []',
    replacement: 'return [withPause(tool, caller, breaker)]',
    test: 'host/policy/source.test.ts',
  },
  {
    control: 'a missing rate binding lets no call through',
    file: 'host/policy/rules.ts',
    text: 'decisions.every((isWithin) => isWithin === true)',
    replacement: 'decisions.every((isWithin) => isWithin !== false)',
    test: 'host/policy/source.test.ts',
  },
  {
    control: 'policies go along with the calls of agents',
    file: 'host/policy/rules.ts',
    text: 'policies: { ...policies, ...context.policies }',
    replacement: 'policies: { ...context.policies }',
    test: 'host/policy/source.test.ts',
  },
  {
    control: 'a result that breaks the output schema of its tool is not passed on',
    file: 'host/policy/output.ts',
    text: 'return await definitions.checkOutcome({ name, outputSchema }, outcome)',
    replacement: 'return outcome',
    test: 'security/control-matrix.test.ts',
  },
  {
    control: 'a tool that fails again and again is paused',
    file: 'host/breaker.ts',
    text: 'if (entry.pausedUntil > now()) return false',
    replacement: '',
    test: 'security/breaker.test.ts',
  },
  {
    control: 'secrets of the edge are removed from what tools answer',
    file: 'host/policy/source.ts',
    text: 'answer.then(secrets.json, (error: unknown) => {',
    replacement: 'answer.then((value) => value, (error: unknown) => {',
    test: 'security/secrets.test.ts',
  },
  {
    control: 'secrets are found in base64 within a longer text',
    file: 'contract/secrets.ts',
    text: '.flatMap(formsOf)',
    replacement: '',
    test: 'security/secrets.test.ts',
  },
  {
    control: 'a key guesses at most 100 unknown ids in a minute',
    file: 'http/runs/limit-guesses.ts',
    text: 'if (current) current.count += 1',
    replacement: 'if (current) current.count += 0',
    test: 'security/guesses.test.ts',
  },
  {
    control: 'an object that is only read stores nothing',
    file: 'contract/lazy-schema.ts',
    text: 'if (sql.exec(query, table).toArray().length > 0) this.ensure()',
    replacement: 'sql.exec(query, table)\n    this.ensure()',
    test: 'security/fuzz.test.ts',
  },
  {
    control: 'tools of others never stand in for a Worker that cannot be described',
    file: 'host/source/behind.ts',
    text: '!heldNames.has(definition.name)',
    replacement: 'heldNames.size >= 0 || definition',
    test: 'security/owners.test.ts',
  },
  {
    control: 'a tenant has a quota of open requests',
    file: 'http/middleware/open-requests.ts',
    text: 'if (reached) throw quotaProblem(reached)',
    replacement: '',
    test: 'security/quotas.test.ts',
  },
  {
    control: 'no conversation is created beyond the quotas of its tenant',
    file: 'http/runs/storage-quota.ts',
    text: 'if (reached && !isListed) throw quotaProblem(reached)',
    replacement: '',
    test: 'security/quotas.test.ts',
  },
  {
    control: 'stored responses and runs with a key count towards the quota of bytes',
    file: 'http/runs/storage-quota.ts',
    text: 'if (totals && totals.storedBytes >= limit) {',
    replacement: 'if (totals && totals.storedBytes >= Infinity) {',
    test: 'security/quotas.test.ts',
  },
  {
    control: 'no run starts once the tenant stores too much',
    file: 'conversation/run/storage-quota.ts',
    text: 'if (used >= limit) return',
    replacement: 'if (used >= Infinity) return',
    test: 'security/quotas.test.ts',
  },
  {
    control: 'no definition is stored beyond the quota of its owner',
    file: 'catalogue/store.ts',
    text: 'if (size >= names) return refuse',
    replacement: 'if (size >= Infinity) return refuse',
    test: 'security/quotas.test.ts',
  },
  {
    control: 'with FOUR_EYES a key does not decide about its own run',
    file: 'conversation/run/answers.ts',
    text: 'if (fourEyes && ',
    replacement: 'if (!fourEyes && fourEyes && ',
    test: 'security/approvals.test.ts',
  },
  {
    control: 'a disabled key lets nobody in',
    file: 'http/middleware/key-states.ts',
    text: 'if (disabled) return disabled.has(id)',
    replacement: 'if (disabled) return false',
    test: 'security/keys.test.ts',
  },
  {
    control: 'nobody is let in as long as the disabled keys cannot be read',
    file: 'http/middleware/key-states.ts',
    text: "throw new Problem({ status: 503, code: 'keys_unavailable', message, retryAfterMs: FRESH_MS })",
    replacement: 'return message === id',
    test: 'security/keys.test.ts',
  },
  {
    control: 'a token is for this audience',
    file: 'http/middleware/token.ts',
    text: 'verification: { iss: issuer, aud: audience }',
    replacement: 'verification: { iss: issuer }',
    test: 'security/keys.test.ts',
  },
  {
    control: 'a token is signed by the algorithm of its provider',
    file: 'http/middleware/token.ts',
    text: 'allowedAlgorithms: [algorithm]',
    replacement: "allowedAlgorithms: [algorithm, 'RS256', 'ES256', 'RS512']",
    test: 'security/keys.test.ts',
  },
  {
    control: 'another site cannot use the cookie of Cloudflare Access',
    file: 'http/middleware/token.ts',
    text: 'if (bearer === undefined) checkSite(request, config.corsOrigins)',
    replacement: '',
    test: 'security/keys.test.ts',
  },
  {
    control: 'models get no redirect with credentials',
    file: 'model/post-models.ts',
    text: "redirect: 'manual'",
    replacement: "redirect: 'follow'",
    test: 'security/redirects.test.ts',
  },
  {
    control: 'the exception of a describe() is for operators alone',
    file: 'host/worker/describe.ts',
    text: "unusable('it failed to describe itself', messageOf(error))",
    replacement: 'unusable(messageOf(error))',
    test: 'security/details.test.ts',
  },
  {
    control: 'a request cannot override pinned context',
    file: 'http/runs/request-values.ts',
    text: '...values, ...pinnedContext }',
    replacement: '...pinnedContext, ...values }',
    test: 'security/context.test.ts',
  },
  {
    control: 'one check of a value has a budget of work',
    file: 'schema/work.ts',
    text: 'if ((work.unitsLeft -= units) < 0) throw new WorkError()',
    replacement: 'work.unitsLeft -= units',
    test: 'schema/work.property.test.ts',
  },
  {
    control: 'a search counts 64 words',
    file: 'search/keyword-index.ts',
    text: 'if (weights.size >= MOST_WORDS && !weights.has(word)) continue',
    replacement: '',
    test: 'search/keyword-index.test.ts',
  },
  {
    control: 'bodies are UTF-8',
    file: 'http/request-body.ts',
    text: 'if (!/^(?:utf-?8|us-ascii)$/i.test(charset)) {',
    replacement: "if (charset === 'none') {",
    test: 'security/json.test.ts',
  },
  {
    control: 'with CODE_ISOLATES=call the isolate of code ends with its call',
    file: 'definitions/code/worker.ts',
    text: "isolates === 'call' ? loader.load(code()) : ",
    replacement: "isolates === 'none' ? loader.load(code()) : ",
    test: 'edge/code-tools.test.ts',
  },
  {
    control: 'a run with cancelOnDisconnect ends when its client disconnects',
    file: 'http/runs/start-run.ts',
    text: 'run.cancelOnDisconnect ? cancelledOnDisconnect(requestContext, handle) : handle',
    replacement: 'run.cancelOnDisconnect ? handle : handle',
    test: 'http/waiting.test.ts',
  },
  {
    control: 'an outcome that comes after its call was settled is recorded',
    file: 'conversation/run/journal.ts',
    text: 'if (!store.fullResults.addLate(id, callId, outcome)) return',
    replacement: 'return',
    test: 'conversation/late.test.ts',
  },
  {
    control: 'a request whose object is overloaded or lost is answered 503',
    file: 'http/app/edge.ts',
    text: 'if (unreachable) {',
    replacement: 'if (unreachable && !unreachable) {',
    test: 'security/unreachable.test.ts',
  },
  {
    control: 'stored faults have no secrets of the edge',
    file: 'conversation/run/fault-recorder.ts',
    text: 'setup.secrets?.json(storedFault) ?? storedFault',
    replacement: 'storedFault',
    test: 'http/faults.test.ts',
  },
  {
    control: 'a call that failed has the marks of its tool',
    file: 'loop/fold.ts',
    text: 'const definition = attempt > 0 ? offered.get(tool) : undefined',
    replacement: 'const definition = attempt > 0 && result?.ok ? offered.get(tool) : undefined',
    test: 'loop/data-flow-guard.test.ts',
  },
]
