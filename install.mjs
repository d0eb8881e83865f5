import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * `node install.mjs [folder…]` runs `npm ci` in each folder whose lock file differs from what is installed there, by
 * default in the current one. It is JavaScript, since it runs before the Node version of this project is installed. It
 * compares versions and not dates: a `git checkout` gives the lock file a new date, and an `npm ci` for that alone would
 * remove packages that other processes use.
 */
const folders = process.argv.slice(2)
for (const folder of folders.length === 0 ? ['.'] : folders) {
  if (isInstalled(folder)) continue
  const { status } = spawnSync('npm', ['ci', '--loglevel=error'], { cwd: folder, stdio: 'inherit', shell: onWindows() })
  if (status !== 0) process.exit(status ?? 1)
}

/** Whether the packages of a folder are those of its lock file. npm lists what it has installed in a lock file too. */
function isInstalled(folder) {
  const locked = packagesOf(join(folder, 'package-lock.json'))
  const installed = packagesOf(join(folder, 'node_modules/.package-lock.json'))
  return (
    Object.keys(installed).every((path) => path in locked) &&
    Object.entries(locked).every(([path, { version, integrity, optional }]) => {
      const found = installed[path]
      // Of those for other platforms nothing is installed. The path of the project itself is empty.
      if (!found) return path === '' || optional === true
      return found.version === version && found.integrity === integrity
    })
  )
}

function packagesOf(path) {
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')).packages : {}
}

/** npm is a batch file there, which only a shell runs. */
function onWindows() {
  return process.platform === 'win32'
}
