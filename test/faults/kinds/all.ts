import type { EdgeChanges } from '../world.ts'
import { agents, agentsOfAgents } from './agents.ts'
import type { Kind } from './kind.ts'
import { programs } from './programs.ts'
import { reduced, SMALL } from './reduced.ts'
import { scheduled } from './scheduled.ts'
import { HOOK_SECRET, triggered } from './triggered.ts'

export const KINDS: readonly Kind[] = [agents, agentsOfAgents, programs, ...scheduled, ...triggered, reduced]

/** The edge on which all kinds are played. */
export const KINDS_EDGE: EdgeChanges = {
  main: 'kinds-edge/index.ts',
  vars: {
    // So that the fence of a call that was lost is soon over.
    CALL_TIMEOUT_MS: '15000',
    // On a busy machine, calls that a run waits for at its moment may take as long as they may.
    TOOL_BREAKER_FAILURES: 'off',
    HOOK_SECRET,
    MODELS: 'openai/*',
    MODEL_WINDOWS: JSON.stringify({ [SMALL.model]: { contextTokens: SMALL.contextTokens } }),
  },
}
