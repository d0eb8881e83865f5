import { SANDBOX } from '../../../src/code/sandbox.ts'

interface Env {
  readonly LOADER: WorkerLoader
}

/** Starts an empty isolate of the sandbox, for each request with the path `/load`. */
export default {
  async fetch(request: Request, { LOADER }: Env): Promise<Response> {
    if (!request.url.endsWith('/load')) return new Response('word7 ')
    const worker = LOADER.load({
      compatibilityDate: SANDBOX.compatibilityDate,
      compatibilityFlags: [...SANDBOX.compatibilityFlags],
      mainModule: 'main.js',
      modules: { 'main.js': 'export default { fetch: () => new Response("word7 ") }' },
      globalOutbound: null,
    })
    return worker.getEntrypoint().fetch('https://isolate/')
  },
}
