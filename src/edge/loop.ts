import type { LoopSetup } from '../contract/hook.ts'
import type { Setup } from '../contract/setup.ts'
import { logs } from '../observe/log.ts'
import { reportTo } from './report.ts'
import type { SetupOptions } from './options.ts'
import type { SetupParts } from './parts.ts'

/** Makes what the loop takes from an edge: its hooks, its logs, and the check of answers against a schema. */
export function makeLoop(
  { env, config, secrets }: SetupParts,
  { search, hooks = [], loop }: Pick<SetupOptions, 'search' | 'hooks' | 'loop'>,
  finder: Setup['finder'],
): LoopSetup {
  const { DEFINITIONS: definitions } = env
  const searchHook = finder && search?.hook(config, finder)
  return {
    ...(definitions && { validate: (schema, value) => definitions.validate(schema, value) }),
    ...(config.log === 'runs' && { observe: logs(reportTo('log', secrets), config) }),
    ...loop,
    hooks: [...hooks, ...(searchHook ? [searchHook] : [])],
  }
}
