import { build } from 'esbuild'
import { convertV4MiniflareOptions, Miniflare } from 'miniflare'

const FOLDER = new URL('.', import.meta.url).pathname

/**
 * Starts the Worker on workerd, with sockets of its own: the test harness of wrangler sends what a Worker fetches
 * through Node, where a stream that the Worker lets go of stays open.
 */
export async function startMcpClient(): Promise<{ readonly url: URL; readonly close: () => Promise<void> }> {
  const { outputFiles } = await build({
    entryPoints: [`${FOLDER}worker.ts`],
    bundle: true,
    write: false,
    format: 'esm',
    target: 'es2024',
    external: ['cloudflare:*'],
    tsconfig: new URL('../../tsconfig.json', import.meta.url).pathname,
  })
  const worker = new Miniflare(
    convertV4MiniflareOptions({
      modules: true,
      script: outputFiles[0]?.text ?? '',
      compatibilityDate: '2026-10-23',
      host: '127.0.0.1',
      port: 0,
      cf: false,
      durableObjects: { CONNECTIONS: { className: 'McpConnection', useSQLite: true } },
    }),
  )
  return { url: await worker.ready, close: () => worker.dispose() }
}
