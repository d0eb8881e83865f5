/**
 * The door of the Worker that performs stored definitions:
 * `export { Definitions as default, Outbound } from '../../src/stored.ts'`.
 */
import { WorkerEntrypoint } from 'cloudflare:workers'
import type { VersionedDefinitions } from './contract/catalogue.ts'
import { type OutboundGrant, sendOutbound } from './definitions/code/outbound.ts'
import type { CodeLoader } from './code/sandbox.ts'
import type { CodeHost } from './definitions/code/worker.ts'
import { definitionService } from './definitions/service.ts'
import { oneOfVar } from './contract/vars.ts'

interface Env {
  /** Loads dynamic Workers, which run tools of code. Without it there are no such tools. */
  readonly LOADER?: CodeLoader
  /** `call`: each call of code has an isolate of its own. `shared`, the default: those of a tenant may share one. */
  readonly CODE_ISOLATES?: string
}

/** Answers only over its service binding. It has no binding but `LOADER`, so a definition has nothing to reach. */
export class Definitions extends WorkerEntrypoint<Env> implements VersionedDefinitions {
  write(...request: Parameters<VersionedDefinitions['write']>): ReturnType<VersionedDefinitions['write']> {
    return this.#service().write(...request)
  }

  read(...request: Parameters<VersionedDefinitions['read']>): ReturnType<VersionedDefinitions['read']> {
    return this.#service().read(...request)
  }

  call(...request: Parameters<VersionedDefinitions['call']>): ReturnType<VersionedDefinitions['call']> {
    return this.#service().call(...request)
  }

  checkOutcome(
    ...request: Parameters<VersionedDefinitions['checkOutcome']>
  ): ReturnType<VersionedDefinitions['checkOutcome']> {
    return this.#service().checkOutcome(...request)
  }

  validate(...request: Parameters<VersionedDefinitions['validate']>): ReturnType<VersionedDefinitions['validate']> {
    return this.#service().validate(...request)
  }

  compare(...request: Parameters<VersionedDefinitions['compare']>): ReturnType<VersionedDefinitions['compare']> {
    return this.#service().compare(...request)
  }

  override fetch(): Response {
    return new Response('This Worker answers only over its service binding.\n', { status: 404 })
  }

  #service(): VersionedDefinitions {
    const { LOADER: loader } = this.env
    if (!loader) return definitionService()
    const isolates = oneOfVar({ ...this.env }, 'CODE_ISOLATES', ['shared', 'call'])
    return definitionService({ code: { loader, outbound: findOutbound(this.ctx), isolates } })
  }
}

/** The outbound service of dynamic Workers: receives all their requests, with the grant that they were loaded with. */
export class Outbound extends WorkerEntrypoint<Env, OutboundGrant> {
  override fetch(request: Request): Promise<Response> {
    return sendOutbound(request, this.ctx.props)
  }
}

/** Returns the binding of this Worker to its own export `Outbound`. */
function findOutbound({ exports }: ExecutionContext): CodeHost['outbound'] {
  return (props) => {
    const outbound: unknown = Reflect.get(exports, 'Outbound')
    if (typeof outbound !== 'function') throw new TypeError('the definitions Worker must export Outbound of stored.ts')
    return outbound({ props })
  }
}
