/** The door of the Worker that performs stored definitions: `export { Definitions as default } from '../../src/stored.ts'`. */
import { WorkerEntrypoint } from 'cloudflare:workers'
import type { DefinitionService } from './contract/definition.ts'
import { definitionService } from './tool/stored/service.ts'

const service = definitionService()

/** Answers over its service binding alone. It has no bindings of its own: there is nothing here to reach. */
export class Definitions extends WorkerEntrypoint implements DefinitionService {
  write(...request: Parameters<DefinitionService['write']>): ReturnType<DefinitionService['write']> {
    return service.write(...request)
  }

  read(...request: Parameters<DefinitionService['read']>): ReturnType<DefinitionService['read']> {
    return service.read(...request)
  }

  call(...request: Parameters<DefinitionService['call']>): ReturnType<DefinitionService['call']> {
    return service.call(...request)
  }

  validate(...request: Parameters<DefinitionService['validate']>): ReturnType<DefinitionService['validate']> {
    return service.validate(...request)
  }

  override fetch(): Response {
    return new Response('This Worker answers over its service binding alone.\n', { status: 404 })
  }
}
