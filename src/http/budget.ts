import { leftOf, type Left, periodOf } from '../contract/budget.ts'
import type { Setup } from '../contract/setup.ts'
import type { Caller } from '../contract/tool.ts'
import { NO_USAGE, type Usage } from '../contract/usage.ts'
import { keyOf } from './auth.ts'
import { Problem } from './problem.ts'

interface Asking {
  readonly setup: Setup
  readonly caller: Caller
}

/**
 * What is left of the budget of a caller's key; undefined where it has none. Throws a Problem where nothing is left, unless
 * `isKnown` tells that nothing new is asked.
 */
export async function budgetOf(
  { setup, caller }: Asking,
  isKnown: () => Promise<boolean> = async () => false,
): Promise<Left | undefined> {
  const { budget } = keyOf(setup.config, caller) ?? {}
  if (!budget || caller.key === undefined) return undefined
  if (budget.tokens === undefined && budget.cost === undefined) return {}
  const now = Date.now()
  const period = periodOf(budget.per, now)
  const left = leftOf(budget, await setup.directories.getByName(caller.tenant).spent(caller.key, period))
  const which = left.tokens === 0 ? 'tokens' : left.cost === 0 ? 'cost' : undefined
  if (which === undefined || (await isKnown())) return left
  throw new Problem({
    status: 429,
    code: 'budget_exhausted',
    message: `The ${which} that this key may use in a ${budget.per} are used up until ${new Date(period.to).toISOString()}.`,
    retryAfterMs: period.to - now,
    mayRetry: false,
    extra: { which },
  })
}

/** Throws a Problem for a model that no budget of cost could hold: where it has no price, what it does costs nothing. */
export function checkPriced({ setup, caller }: Asking, model: string): void {
  if (keyOf(setup.config, caller)?.budget?.cost === undefined) return
  const resolved = setup.models.resolve(model)
  if (!resolved.ok || resolved.model.price) return
  const message = `The model "${resolved.name}" has no price here, and this key has a budget of cost.`
  throw new Problem({ status: 403, code: 'model_not_priced', message, param: 'model' })
}

/** Counts what a run used for the key of its caller. Never rejects: what could not be counted is told to operators. */
export async function countSpend(
  { setup, caller }: Asking,
  { runId: run, usage: { inputTokens, outputTokens, cost = 0 } = NO_USAGE }: { runId: string; usage?: Usage },
): Promise<void> {
  const { tenant, key = '' } = caller
  const spend = { run, key, at: Date.now(), tokens: inputTokens + outputTokens, cost }
  const count = () => setup.directories.getByName(tenant).count(spend)
  try {
    // Told twice it counts once; what a new version of the edge cuts off succeeds then.
    await count().catch(count)
  } catch (error) {
    setup.report({ event: 'spend.lost', ...spend, detail: String(error) })
  }
}
