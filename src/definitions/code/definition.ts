import * as v from 'valibot'
import type { DefinitionIssue, ToolHosts } from '../../contract/definition.ts'
import { grantedSecrets, HTTP_CALL } from '../http/definition.ts'
import { findImport } from '../../code/sandbox.ts'

/** The largest module. A hundred definitions are read at once, and KV returns at most 25 MB, RPC at most 32 MiB. */
const MOST_BYTES = 128 * 1024
const MOST_HOSTS = 16
/** Matches a host, a host with its port, or a whole origin, as in `HTTP_TOOL_HOSTS`. */
const HOST = /^(?:https?:\/\/)?[^/?#@\\\s]+$/

export const CODE = v.strictObject({
  module: v.pipe(
    v.string(),
    v.check(
      (text) => new TextEncoder().encode(text).byteLength <= MOST_BYTES,
      `expected at most ${MOST_BYTES} bytes of JavaScript`,
    ),
    // The platform lets every Worker import `node:process`, which hands out all other modules.
    v.check(
      (text) => findImport(text) === undefined,
      ({ input }) => `expected a module that imports nothing, received ${findImport(input)}`,
    ),
  ),
  hosts: v.exactOptional(
    v.pipe(
      v.array(
        v.pipe(
          v.string(),
          v.check(
            (host) => originOf(host) !== undefined,
            'expected a host such as api.example.com, or an origin such as https://api.example.com:8443',
          ),
        ),
      ),
      v.maxLength(MOST_HOSTS),
    ),
  ),
  secrets: HTTP_CALL.entries.secrets,
})

/**
 * The code of a stored tool: an ES module without imports whose default export is `(arguments, context) => result`. It
 * reaches only the hosts in `hosts`, and `secrets` go only there.
 */
export type Code = Readonly<v.InferOutput<typeof CODE>>

/** The origins that code may reach, each with the names of the secrets that may go there. */
export type Origins = Readonly<Record<string, readonly string[]>>

/** Returns what code asks for and is not granted: a host, or a secret that may go to none of its hosts. */
export function checkCodeHosts({ hosts = [], secrets = [] }: Code, allowed: ToolHosts): DefinitionIssue[] {
  const grants = hosts.map((host) => grantedTo(host, allowed))
  return [
    ...hosts.flatMap((host, index) => {
      const message = `expected an origin that HTTP_TOOL_HOSTS allows, received ${originOf(host)}`
      return grants[index] ? [] : [{ path: `code.hosts.${index}`, message }]
    }),
    ...secrets.flatMap((secret, index) => {
      const message = `expected a secret that HTTP_TOOL_HOSTS allows for a host in code.hosts, received ${secret}`
      return grants.some((names) => names?.includes(secret)) ? [] : [{ path: `code.secrets.${index}`, message }]
    }),
  ]
}

/** Returns which of its hosts and secrets the deployment grants to code. */
export function originsOf({ hosts = [], secrets = [] }: Code, allowed: ToolHosts): Origins {
  return Object.fromEntries(
    hosts.flatMap((host) => {
      const [origin, names] = [originOf(host), grantedTo(host, allowed)]
      return origin && names ? [[origin, secrets.filter((secret) => names.includes(secret))] as const] : []
    }),
  )
}

function grantedTo(host: string, allowed: ToolHosts): readonly string[] | undefined {
  const origin = originOf(host)
  return origin === undefined ? undefined : grantedSecrets(new URL(origin), allowed)
}

function originOf(host: string): string | undefined {
  const url = host.includes('://') ? host : `https://${host}`
  return HOST.test(host) && URL.canParse(url) ? new URL(url).origin : undefined
}
