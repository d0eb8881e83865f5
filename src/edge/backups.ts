import type { ConversationBackups } from '../contract/setup.ts'
import { backUpConversation } from '../conversation/backup/backup.ts'
import type { Surface } from '../http/surface.ts'
import { backupRoutes } from '../http/surfaces/backups.ts'

/** A feature of an edge: copies of conversations, and point-in-time recovery. */
export interface BackupsFeature {
  readonly conversations: ConversationBackups
  readonly surface: Surface
}

/**
 * Backups: `GET` and `PUT /backups/{conversation}` copy a conversation out of an edge and into one, and
 * `POST /backups/{conversation}/rewind` takes it back to an earlier time. The scope is `backup`.
 *
 * @example
 * const edge = createEdge({ providers: { openai: openaiFromEnv }, backups })
 */
export const backups: BackupsFeature = {
  conversations: backUpConversation,
  surface: backupRoutes,
}
