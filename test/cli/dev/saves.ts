import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

/** The ways in which editors and tools save a file. */
export const SAVES: Readonly<Record<string, (path: string, text: string) => void>> = {
  'in place': (path, text) => writeFileSync(path, text),
  // As vim, JetBrains and `git checkout` of one file do.
  'by another file that takes its name': (path, text) => {
    writeFileSync(`${path}.new`, text)
    renameSync(`${path}.new`, path)
  },
  'by deleting it and making it again': (path, text) => {
    rmSync(path)
    writeFileSync(path, text)
  },
  // As `sed -i` does: beside the file, under a name of no meaning, with the old one kept as a backup.
  'as sed does': (path, text) => {
    const draft = `${dirname(path)}/sedQ8fZkM`
    writeFileSync(draft, text)
    writeFileSync(`${path}.bak`, readFileSync(path))
    renameSync(draft, path)
    rmSync(`${path}.bak`)
  },
  // As `git checkout` of a branch that has the folder, after one that does not.
  'with its folder': (path, text) => {
    rmSync(dirname(path), { recursive: true })
    mkdirSync(dirname(path))
    writeFileSync(path, text)
  },
}
