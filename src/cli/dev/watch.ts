import { existsSync, watch as watchPath } from 'node:fs'
import { join } from 'node:path'

/** What a changed file asks for: a new start, or storing the definitions again. Other code wrangler reloads by itself. */
export type FileChange = 'setup' | 'definitions' | 'code'

/** How long to collect changes before telling of them, in milliseconds: editors write a file in several steps. */
const SETTLE_MS = 120

/** Watches a project, and tells of changes until the signal aborts. */
export function watchProject(
  root: string,
  onChange: (changes: ReadonlySet<FileChange>) => void,
  signal: AbortSignal,
): void {
  let changes = new Set<FileChange>()
  let timer: NodeJS.Timeout | undefined
  const note = (path: string) => {
    const change = changeOf(path)
    if (!change) return
    changes.add(change)
    clearTimeout(timer)
    timer = setTimeout(() => {
      const collected = changes
      changes = new Set()
      onChange(collected)
    }, SETTLE_MS)
  }
  for (const folder of ['tools', 'src']) {
    if (!existsSync(join(root, folder))) continue
    const watcher = watchPath(join(root, folder), { recursive: true, signal }, (_event, file) => {
      if (file !== null) note(`${folder}/${file.replaceAll('\\', '/')}`)
    })
    watcher.on('error', () => {})
  }
  watchPath(root, { signal }, (_event, file) => {
    if (file !== null) note(file)
  }).on('error', () => {})
  signal.addEventListener('abort', () => clearTimeout(timer), { once: true })
}

function changeOf(path: string): FileChange | undefined {
  if (/(?:^|\/)(?:wrangler\.(?:toml|jsonc?)|\.dev\.vars|\.env)$/.test(path)) return 'setup'
  if (/^tools\/definitions\/[^/]+\.(?:json|js)$/.test(path)) return 'definitions'
  return /^(?:src|tools)\/.*\.[cm]?[jt]sx?$/.test(path) ? 'code' : undefined
}
