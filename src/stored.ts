/** The door of the Worker that performs stored definitions: `export { Definitions as default } from '../../src/stored.ts'`. */
import { WorkerEntrypoint } from 'cloudflare:workers'
import type { VersionedDefinitions } from './contract/catalogue.ts'
import { definitionService } from './tool/stored/service.ts'

const service = definitionService()

/** Answers over its service binding alone. It has no bindings of its own: there is nothing here to reach. */
export class Definitions extends WorkerEntrypoint implements VersionedDefinitions {
  write(...request: Parameters<VersionedDefinitions['write']>): ReturnType<VersionedDefinitions['write']> {
    return service.write(...request)
  }

  read(...request: Parameters<VersionedDefinitions['read']>): ReturnType<VersionedDefinitions['read']> {
    return service.read(...request)
  }

  call(...request: Parameters<VersionedDefinitions['call']>): ReturnType<VersionedDefinitions['call']> {
    return service.call(...request)
  }

  validate(...request: Parameters<VersionedDefinitions['validate']>): ReturnType<VersionedDefinitions['validate']> {
    return service.validate(...request)
  }

  compare(...request: Parameters<VersionedDefinitions['compare']>): ReturnType<VersionedDefinitions['compare']> {
    return service.compare(...request)
  }

  override fetch(): Response {
    return new Response('This Worker answers over its service binding alone.\n', { status: 404 })
  }
}
