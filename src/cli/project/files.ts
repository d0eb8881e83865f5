import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Failure } from '../failure.ts'

/** Texts of files by their paths, relative to a root. */
export type Files = Readonly<Record<string, string>>

/** Writes files, of which none may be there already: throws a Failure that names those, before anything is written. */
export function writeFiles(root: string, files: Files): void {
  const existingFiles = Object.keys(files).filter((path) => existsSync(join(root, path)))
  if (existingFiles.length > 0)
    throw new Failure(`There is already ${existingFiles.join(', ')}.`, 'Choose another name.')
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }
}
