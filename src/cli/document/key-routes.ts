import type { Routes } from './operation.ts'

const UNKNOWN = { 404: 'No key with this id is stored.' }
const SCOPES = { 403: 'The caller lacks the scope, or one of those of the key.' }

/** The routes by which operators make and change stored API keys. */
export const KEY_ROUTES: Routes = {
  '/keys': {
    get: {
      tag: 'Keys',
      id: 'listKeys',
      summary: 'List the stored API keys of all tenants',
      description: 'By id, 100 at a time. Those of `API_KEYS` are not among them.',
      scope: 'keys',
      query: { after: 'Where the page begins: `next` of the page before.' },
      answers: { 200: { says: 'A page of keys, without their hashes.', json: 'KeyPage' } },
    },
    post: {
      tag: 'Keys',
      id: 'createKey',
      summary: 'Make an API key',
      description: 'The answer has the key, which is shown this once. It can have no scope that the caller lacks.',
      scope: 'keys',
      body: 'KeyBody',
      answers: { 201: { says: 'The key, and what it may do.', json: 'NewKey' } },
      errors: { ...SCOPES, 409: 'There is a key with this id.' },
    },
  },
  '/keys/{id}': {
    patch: {
      tag: 'Keys',
      id: 'changeKey',
      summary: 'Change or disable a stored API key',
      description:
        'Null removes a term. A body of `disabled: true` alone disables any key; other changes need the scopes of the key.',
      scope: 'keys',
      body: 'KeyChange',
      answers: { 200: { says: 'The key as it is now.', json: 'StoredKey' } },
      errors: { ...UNKNOWN, ...SCOPES },
    },
    delete: {
      tag: 'Keys',
      id: 'deleteKey',
      summary: 'Remove a stored API key',
      scope: 'keys',
      answers: { 204: { says: 'The key is removed.' } },
      errors: UNKNOWN,
    },
  },
  '/keys/{id}/rotate': {
    post: {
      tag: 'Keys',
      id: 'rotateKey',
      summary: 'Replace the secret of a stored API key',
      description: 'With `keepOld`, the one before works too, until the key is rotated again.',
      scope: 'keys',
      body: 'KeyRotation',
      answers: { 200: { says: 'The new key, which is shown this once, and what it may do.', json: 'NewKey' } },
      errors: { ...UNKNOWN, ...SCOPES },
    },
  },
}
