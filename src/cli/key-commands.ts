import { AT_EDGE, type Command, command } from './command/command.ts'
import { remote } from './command/remote.ts'

/** A command that has a stored key let somebody in, or nobody. */
function switchCommand(verb: 'disable' | 'enable', summary: string): Command {
  return command({
    name: `keys ${verb}`,
    summary,
    arguments: { id: { text: 'the id of the key' } },
    options: AT_EDGE,
    run: async (invocation) => {
      const { switchStoredKey } = await import('./remote/stored-keys.ts')
      const key = { ...invocation.arguments, disabled: verb === 'disable' }
      await switchStoredKey(key, await remote(invocation, invocation.options.url))
    },
  })
}

/** The commands about API keys: those in `api-keys.json`, and those that an edge stores. */
export const KEY_COMMANDS: readonly Command[] = [
  command({
    name: 'keys new',
    summary: 'make an API key, print it once, and add its hash to api-keys.json',
    arguments: { id: { text: 'names the key in records, and for keys revoke' } },
    options: {
      ...AT_EDGE,
      tenant: { type: 'string', text: 'the tenant of the key; default: default' },
      scope: { type: 'string', multiple: true, text: 'a scope that it has; default: chat and tools:read' },
      expires: { type: 'string', value: 'date', text: 'such as 2027-01-31; default: never' },
      remote: { type: 'boolean', text: 'set the list as the secret API_KEYS of the deployed edge' },
      stored: { type: 'boolean', text: 'store its hash at the edge instead, which needs a key with the scope keys' },
    },
    run: async (invocation) => {
      const { root, env, terminal, arguments: names, options } = invocation
      const { scope: scopes, stored, url, remote: isRemote, ...terms } = options
      if (stored) {
        const { checkScopes } = await import('./remote/keys.ts')
        const { newStoredKey } = await import('./remote/stored-keys.ts')
        checkScopes(root, scopes)
        return newStoredKey({ ...names, ...terms, scopes }, await remote(invocation, url))
      }
      const { newApiKey } = await import('./remote/keys.ts')
      return newApiKey({ root, env, terminal, ...names, ...terms, scopes, remote: isRemote })
    },
  }),
  command({
    name: 'keys list',
    summary: 'list the API keys that an edge stores',
    arguments: {},
    options: AT_EDGE,
    run: async (invocation) => {
      const { listStoredKeys } = await import('./remote/stored-keys.ts')
      await listStoredKeys(await remote(invocation, invocation.options.url))
    },
  }),
  command({
    name: 'keys rotate',
    summary: 'replace an API key that an edge stores by a new one, and print that once',
    arguments: { id: { text: 'the id of the key' } },
    options: { ...AT_EDGE, 'keep-old': { type: 'boolean', text: 'let the old key work until the next time' } },
    run: async (invocation) => {
      const { rotateStoredKey } = await import('./remote/stored-keys.ts')
      const { url, 'keep-old': keepOld } = invocation.options
      await rotateStoredKey({ ...invocation.arguments, keepOld }, await remote(invocation, url))
    },
  }),
  switchCommand('disable', 'have an API key that an edge stores let nobody in'),
  switchCommand('enable', 'let an API key in again that an edge stores as disabled'),
  command({
    name: 'keys revoke',
    summary: 'disable an API key of the deployed edge at once, without a deployment',
    arguments: { id: { text: 'the id of the key' } },
    options: { local: { type: 'boolean', text: 'disable it at the edge on this machine instead' } },
    run: async ({ root, env, terminal, arguments: { id }, options: { local } }) => {
      const { revokeApiKey } = await import('./remote/keys.ts')
      await revokeApiKey(id, { root, env, terminal, local })
    },
  }),
]
