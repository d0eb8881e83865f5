import { ConfigError } from '../contract/config.ts'
import type { ReportAddresses } from '../contract/later.ts'
import { textVar } from '../contract/vars.ts'
import { reportAddresses } from '../http/runs/report-addresses.ts'
import { outcomes } from '../http/surfaces/outcomes.ts'
import type { Surface } from '../http/surface.ts'
import type { SetupParts } from './parts.ts'
import { signingSecrets } from './signing-secrets.ts'

/** A feature of an edge: outcomes that tools report later. */
export interface OutcomesFeature {
  readonly surfaces: readonly Surface[]
  /** Makes the addresses to report to; undefined without a secret that signs them. */
  readonly addresses: (parts: SetupParts) => ReportAddresses | undefined
}

/**
 * Outcomes that tools report later: `POST /outcomes/{token}`, and `serveOutcomes` for service bindings. Tokens are signed
 * with `OUTCOME_SECRET`; an edge that answers on loopback alone needs none.
 *
 * @example createEdge({ providers: { openai: openaiFromEnv }, outcomes: reportedOutcomes })
 */
export const reportedOutcomes: OutcomesFeature = {
  surfaces: [outcomes],
  addresses: (parts) => {
    const { env, secrets: filter } = parts
    const secrets = signingSecrets(parts)
    const edgeUrl = textVar(env, 'EDGE_URL')?.replace(/\/+$/, '')
    if (edgeUrl !== undefined && !/^https?:\/\/[^/]+$/.test(edgeUrl)) {
      throw new ConfigError('EDGE_URL', 'an address such as https://edge.example.com')
    }
    return secrets.length > 0 ? reportAddresses({ secrets, edgeUrl, filter }) : undefined
  },
}
