import type { ConversationBackups } from '../contract/setup.ts'
import type { Signer } from '../contract/signer.ts'
import { backUpConversation } from '../conversation/backup/backup.ts'
import type { Surface } from '../http/surface.ts'
import { makeSigner } from '../http/runs/signer.ts'
import { backupRoutes } from '../http/surfaces/backups.ts'
import type { SetupParts } from './parts.ts'
import { signingSecrets } from './signing-secrets.ts'

/** A feature of an edge: copies of conversations, and point-in-time recovery. */
export interface BackupsFeature {
  readonly conversations: ConversationBackups
  readonly surface: Surface
  /** Signs copies; undefined without a secret. */
  readonly signer: (parts: SetupParts) => Signer | undefined
}

/**
 * Backups: `GET` and `PUT /backups/{conversation}` copy a conversation out of an edge and into one, and
 * `POST /backups/{conversation}/rewind` takes it back to an earlier time. The scope is `backup`. Copies are signed with
 * `OUTCOME_SECRET`: one that is not is restored as data of the caller who brings it.
 *
 * @example
 * const edge = createEdge({ providers: { openai: openaiFromEnv }, backups })
 */
export const backups: BackupsFeature = {
  conversations: backUpConversation,
  surface: backupRoutes,
  signer: (parts) => {
    const secrets = signingSecrets(parts)
    return secrets.length > 0 ? makeSigner(secrets, 'copy') : undefined
  },
}
