import { createHash } from 'node:crypto'
import { canonicalJson, isObject } from '../../contract/json.ts'
import type { DefinitionFile } from '../definitions.ts'
import { type EdgeAddress, refusal, send } from '../edge.ts'
import type { DeployedDefinition } from './record.ts'

/** Returns the digest by which a changed definition is distinguished from the stored one. */
export function fileDigest({ definition }: DefinitionFile): string {
  return createHash('sha256').update(canonicalJson(definition)).digest('hex')
}

/** Returns the files whose definitions are not those that a deployment has stored. */
export function changedDefinitions(
  files: readonly DefinitionFile[],
  stored: readonly DeployedDefinition[],
): readonly DefinitionFile[] {
  const digests = new Map(stored.map(({ name, digest }) => [name, digest]))
  return files.filter((file) => digests.get(file.name) !== fileDigest(file))
}

/** Stores one definition at an edge. Throws a Failure that names the file if it is refused. */
export async function storeDefinition(edge: EdgeAddress, file: DefinitionFile): Promise<DeployedDefinition> {
  const { name, definition } = file
  const path = `/tools/${encodeURIComponent(name)}`
  const answer = await send(edge, { method: 'PUT', path, body: definition })
  if (!answer.ok) throw await refusal(`${file.file} was not stored`, answer)
  const reply: unknown = await answer.json()
  return { name, digest: fileDigest(file), hash: isObject(reply) ? String(reply['hash']) : '' }
}

/** Makes the version of a definition current that a manifest names. Throws a Failure if the edge refuses. */
export async function restoreDefinition(edge: EdgeAddress, { name, hash }: DeployedDefinition): Promise<void> {
  const path = `/tools/${encodeURIComponent(name)}/rollback`
  const answer = await send(edge, { method: 'POST', path, body: { hash } })
  if (!answer.ok) throw await refusal(`${name} was not rolled back`, answer)
  await answer.body?.cancel()
}

/** Removes a definition that a manifest does not have; one that does not exist is not an error. */
export async function removeDefinition(edge: EdgeAddress, name: string): Promise<void> {
  const answer = await send(edge, { method: 'DELETE', path: `/tools/${encodeURIComponent(name)}` })
  if (!answer.ok && answer.status !== 404) throw await refusal(`${name} was not removed`, answer)
  await answer.body?.cancel()
}
