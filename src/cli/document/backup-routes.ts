import type { Routes } from './operation.ts'

const UNKNOWN = {
  404: 'The conversation does not exist, or it belongs to another tenant.',
}

/** The routes that copy conversations and take them back in time. */
export const BACKUP_ROUTES: Routes = {
  '/backups/{id}': {
    get: {
      tag: 'Conversations',
      id: 'copyConversation',
      summary: 'Copy a conversation',
      description:
        'An exact copy of at most 30 MiB, which `PUT` takes. It is signed if the deployment has an `OUTCOME_SECRET`.',
      scope: 'backup',
      answers: {
        200: { says: 'One JSON value per line, for each row of its tables.', type: 'application/x-ndjson' },
      },
      errors: { ...UNKNOWN, 410: 'The conversation was deleted.', 413: 'The copy would be too large.' },
    },
    put: {
      tag: 'Conversations',
      id: 'restoreConversation',
      summary: 'Make a conversation of a copy',
      description:
        'The body is a copy. Runs that had not ended are cancelled in the new conversation. A copy that this deployment has not signed for this tenant and id counts as written by the caller: its requests are checked, and nothing in it is anybody else’s.',
      scope: 'backup',
      answers: {
        201: {
          says: 'The conversation is there. `signed`: whether the copy counts as made by this deployment.',
          json: 'RestoredConversation',
        },
      },
      errors: {
        409: 'A conversation with this id exists.',
        413: 'The body is too large.',
        422: 'The copy is damaged, or has values that no request may have.',
      },
    },
  },
  '/backups/{id}/rewind': {
    post: {
      tag: 'Conversations',
      id: 'rewindConversation',
      summary: 'Take a conversation back to an earlier time',
      description: 'Of the last 30 days, also from before it was deleted. Runs under way are cancelled.',
      scope: 'backup',
      body: 'RewindBody',
      answers: { 202: { says: 'The conversation is taken back.', json: 'ConversationReference' } },
      errors: { ...UNKNOWN, 501: 'This platform keeps no earlier states, or none of that time.' },
    },
  },
}
