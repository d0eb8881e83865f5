/**
 * Stands in for `cloudflare:workers` in plain Node, where tests import `edgecall/tool`: `npm run build:node` bundles the
 * door with it. The classes of `serveTools` are then plain ones.
 */
export class WorkerEntrypoint<Env = unknown> {
  readonly ctx: unknown
  readonly env: Env

  constructor(ctx: unknown, env: Env) {
    this.ctx = ctx
    this.env = env
  }
}
