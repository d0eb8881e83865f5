import { ConfigError } from '../contract/config.ts'
import type { Signer } from '../contract/signer.ts'
import { listVar, textVar } from '../contract/vars.ts'
import { backUpConversation } from '../conversation/backup/backup.ts'
import { reportAddresses } from '../http/runs/report-addresses.ts'
import { makeSigner } from '../http/runs/signer.ts'
import { backupRoutes } from '../http/surfaces/backups.ts'
import { mcpRoutes } from '../http/surfaces/mcp.ts'
import { outcomes } from '../http/surfaces/outcomes.ts'
import type { Part, Services } from './part.ts'

/**
 * Backups: `GET` and `PUT /backups/{conversation}` copy a conversation out of an edge and into one, and
 * `POST /backups/{conversation}/rewind` takes it back to an earlier time. The scope is `backup`. Copies are signed with
 * `OUTCOME_SECRET`: one that is not is restored as data of the caller who brings it.
 *
 * @example createEdge({ providers: { openai: openaiFromEnv }, use: [backups] })
 */
export const backups: Part = {
  name: 'backups',
  surfaces: [backupRoutes],
  extend: (services) => ({ backups: backUpConversation, copySigner: signerFor('copy', services) }),
}

/**
 * `/mcp`: the edge's tools for clients of the Model Context Protocol. Questions of tools are passed on to the people
 * behind these clients, signed with `OUTCOME_SECRET`.
 *
 * @example createEdge({ providers: { openai: openaiFromEnv }, use: [mcp] })
 */
export const mcp: Part = {
  name: 'mcp',
  surfaces: [mcpRoutes],
  extend: (services) => ({ questionSigner: signerFor('question', services) }),
}

/**
 * Outcomes that tools report later: `POST /outcomes/{token}`, and `serveOutcomes` for service bindings. Tokens are signed
 * with `OUTCOME_SECRET`; an edge that answers on loopback alone needs none.
 *
 * @example createEdge({ providers: { openai: openaiFromEnv }, use: [reportedOutcomes] })
 */
export const reportedOutcomes: Part = {
  name: 'reportedOutcomes',
  surfaces: [outcomes],
  extend: (services) => {
    const secrets = signingSecrets(services)
    const edgeUrl = textVar(services.env, 'EDGE_URL')?.replace(/\/+$/, '')
    if (edgeUrl !== undefined && !/^https?:\/\/[^/]+$/.test(edgeUrl)) {
      throw new ConfigError('EDGE_URL', 'an address such as https://edge.example.com')
    }
    if (secrets.length === 0) return {}
    return { reportAddresses: reportAddresses({ secrets, edgeUrl, filter: services.secrets }) }
  },
}

/** Returns what signs texts for one purpose; undefined without a secret. */
function signerFor(purpose: string, services: Services): Signer | undefined {
  const secrets = signingSecrets(services)
  return secrets.length > 0 ? makeSigner(secrets, purpose) : undefined
}

/**
 * Returns the secrets with which an edge signs what it makes and takes back, such as copies of conversations: the first
 * signs, all are accepted. An edge that answers on loopback alone needs none.
 */
function signingSecrets({ env, config }: Services): readonly string[] {
  return listVar(env, 'OUTCOME_SECRET') ?? (config.auth === 'open' ? ['open'] : [])
}
