import { listVar } from '../contract/vars.ts'
import type { SetupParts } from './parts.ts'

/**
 * Returns the secrets with which an edge signs what it makes and takes back, such as copies of conversations: the first
 * signs, all are accepted. An edge that answers on loopback alone needs none.
 */
export function signingSecrets({ env, config }: Pick<SetupParts, 'env' | 'config'>): readonly string[] {
  return listVar(env, 'OUTCOME_SECRET') ?? (config.auth === 'open' ? ['open'] : [])
}
