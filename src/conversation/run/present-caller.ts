import type { Scope } from '../../contract/api-key.ts'
import { keyOfCaller } from '../../contract/caller-terms.ts'
import type { Config } from '../../contract/config.ts'
import type { IdentityProvider } from '../../contract/identity-provider.ts'
import type { RunError } from '../../contract/run.ts'
import type { Setup } from '../../contract/setup.ts'
import { messageOf } from '../../contract/thrown.ts'
import { type Caller, failure, type Tool } from '../../contract/tool.ts'

/** The scope without which a key starts no run. */
const CHAT: Scope = 'chat'

/**
 * What the caller of a run may do now: the caller with those of its scopes that its key still has, an error if its key may
 * run nothing any more, or `unknown` while it cannot be found out.
 */
export type PresentCaller =
  | { readonly ok: true; readonly caller: Caller }
  | { readonly ok: false; readonly error: RunError }
  | 'unknown'

/**
 * Asks what the caller of a run may do now. A run may have waited for days since its caller was authenticated. An identity
 * provider is not asked again: its callers keep the scopes that the edge still gives to any of its callers.
 */
export async function presentCaller(
  setup: Pick<Setup, 'config' | 'keyStates' | 'storedKeys' | 'report'>,
  caller: Caller,
  now: number,
): Promise<PresentCaller> {
  const { config, keyStates } = setup
  if (config.auth === 'open') return { ok: true, caller }
  let key: PresentKey | undefined
  try {
    key = (await keyOfCaller(setup, caller)) ?? providerOf(config, caller)
    if (!key) return notAllowed('The key that started this run does not exist any more.')
    if (key.expires <= now) return notAllowed('The key that started this run has expired.')
    if (key.disabled || (await keyStates?.isDisabled(caller.key ?? '')))
      return notAllowed('The key that started this run has been disabled.')
  } catch (error) {
    return reportUnknown(setup, caller, error)
  }
  const scopes = caller.scopes.filter((scope) => key.scopes.includes(scope))
  if (!scopes.includes(CHAT)) return notAllowed(`The key that started this run has no scope "${CHAT}" now.`)
  return { ok: true, caller: scopes.length === caller.scopes.length ? caller : { ...caller, scopes } }
}

function notAllowed(message: string): PresentCaller {
  return { ok: false, error: { code: 'run_not_allowed', message } }
}

/** Whether the terms of a caller's key are known; false while they cannot be read. */
export async function isKeyRead(
  setup: Pick<Setup, 'config' | 'storedKeys' | 'report'>,
  caller: Caller,
): Promise<boolean> {
  try {
    await keyOfCaller(setup, caller)
    return true
  } catch (error) {
    reportUnknown(setup, caller, error)
    return false
  }
}

function reportUnknown({ report }: Pick<Setup, 'report'>, { key }: Caller, error: unknown): 'unknown' {
  report({ event: 'caller.unknown', key, detail: messageOf(error) })
  return 'unknown'
}

interface PresentKey {
  readonly scopes: readonly string[]
  readonly expires: number
  readonly disabled?: boolean
}

function providerOf({ identityProviders }: Config, { tenant, key = '' }: Caller): PresentKey | undefined {
  const provider = identityProviders.find(({ id }) => key.startsWith(`${id}:`))
  const isOfTenant = provider && (typeof provider.tenant === 'object' || provider.tenant === tenant)
  return isOfTenant ? { scopes: scopesOf(provider), expires: Infinity } : undefined
}

/** Returns all scopes that callers of a provider can have. */
function scopesOf({ scopes }: IdentityProvider): readonly string[] {
  return 'length' in scopes ? scopes : Object.values(scopes.map).flat()
}

/** Returns a tool that a run was offered and whose calls its key may not make any more, nor learn their outcome. */
export function withdrawTool(tool: Tool): Tool {
  const { name } = tool.definition
  const refuse = async () =>
    failure('tool_not_allowed', `Not run: the key that started this run may not call the tool "${name}" any more.`)
  return {
    ...tool,
    isWithdrawn: true,
    status: async () => 'unknown',
    call: refuse,
    undo: refuse,
    poll: refuse,
    receive: refuse,
  }
}
