import { existsSync, writeFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { Failure } from '../failure.ts'
import { readTextFile } from '../text-file.ts'

/** `export { default as TOOL_DICE } from '../tools/dice/index.ts'` */
const EXPORT = /^export\s*\{\s*default\s+as\s+(TOOL_[A-Z0-9_]+)\s*\}\s*from\s*['"]([^'"]+)['"];?[^\S\n]*$/gm

/** A tool Worker that an edge exports from its own module. */
export interface ExportedTool {
  /** Its name among the tool Workers, such as `TOOL_DICE`. */
  readonly name: string
  /** The path of its module, relative to the root of the project. */
  readonly module: string
}

/** Returns the tool Workers that the main module of an edge exports. `main` is relative to the root. */
export function exportedTools(root: string, main: string): readonly ExportedTool[] {
  if (main === '' || !existsSync(join(root, main))) return []
  const text = readTextFile(join(root, main))
  return [...text.matchAll(EXPORT)].map(([, name = '', path = '']) => ({
    name,
    module: normalize(join(dirname(main), path)),
  }))
}

/** Adds the export of a tool Worker after the last one. Throws a Failure if the module has none, or has this name. */
export function exportTool(root: string, main: string, { name, module }: ExportedTool): void {
  const text = readTextFile(join(root, main))
  const matches = [...text.matchAll(EXPORT)]
  if (matches.some(([, each]) => each === name)) throw new Failure(`${main} has an export ${name} already.`)
  const last = matches.at(-1)
  if (!last) throw new Failure(`${main} exports no tool Worker.`)
  const end = last.index + last[0].length
  const up = dirname(main)
    .split('/')
    .map(() => '..')
    .join('/')
  const line = `export { default as ${name} } from '${up}/${module}'`
  writeFileSync(join(root, main), `${text.slice(0, end)}\n${line}${text.slice(end)}`)
}
