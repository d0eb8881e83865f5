import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { isObject } from '../../contract/json.ts'
import { readJsonFile } from '../text-file.ts'
import type { CheckProblem } from './problem.ts'

/** What runs the project. */
export interface RuntimeVersions {
  readonly node: string
  /** The version of this package. */
  readonly edgecall: string
  /** Absent if the project has none. */
  readonly wrangler?: string
}

/** Older ones load no module of this package into wrangler's process. */
const OLDEST_NODE = '22.12.0'

/** Reads the versions of Node, of this package and of the project's wrangler. */
export function readVersions(root: string, node = process.versions.node): RuntimeVersions {
  const wrangler = versionIn(join(root, 'node_modules/wrangler/package.json'))
  return { node, edgecall: versionIn(OWN) ?? 'unknown', ...(wrangler !== undefined && { wrangler }) }
}

/** Returns what is too old, or missing. */
export function versionProblems(root: string, { node, edgecall, wrangler }: RuntimeVersions): readonly CheckProblem[] {
  const problems: CheckProblem[] = []
  const file = 'package.json'
  if (isOlder(node, OLDEST_NODE)) {
    problems.push({ file, message: `Node ${node} is too old for wrangler.`, remedy: 'Install Node 22.12 or newer.' })
  }
  const oldest = oldestWrangler()
  if (wrangler === undefined) {
    problems.push({
      file,
      message: 'wrangler is not installed.',
      remedy: `Run npm install, or npm install -D wrangler@${oldest}.`,
    })
  } else if (isOlder(wrangler, oldest)) {
    const message = `wrangler ${wrangler} is older than ${oldest}, which this version of edgecall needs.`
    problems.push({ file, message, remedy: `Run npm install -D wrangler@${oldest}.` })
  }
  const installed = versionIn(join(root, 'node_modules/edgecall/package.json'))
  if (installed !== undefined && installed !== edgecall) {
    const message = `This is edgecall ${edgecall}, and the project depends on ${installed}.`
    problems.push({ file, message, remedy: 'Run it with npx in the folder of the project.' })
  }
  return problems
}

/** The manifest of this package. It is three folders up, from the source as from what is built of it. */
const OWN = new URL('../../../package.json', import.meta.url).pathname

function oldestWrangler(): string {
  const { peerDependencies } = Object(readJsonFile(OWN))
  return String(Object(peerDependencies)['wrangler']).replace(/^[^\d]*/, '')
}

function versionIn(path: string): string | undefined {
  if (!existsSync(path)) return undefined
  const content = readJsonFile(path)
  return isObject(content) && typeof content['version'] === 'string' ? content['version'] : undefined
}

function isOlder(version: string, oldest: string): boolean {
  const [numbers, bounds] = [version, oldest].map((text) => text.split(/[.-]/).slice(0, 3).map(Number))
  const at = numbers?.findIndex((number, index) => number !== bounds?.[index]) ?? -1
  return at >= 0 && (numbers?.[at] ?? 0) < (bounds?.[at] ?? 0)
}
