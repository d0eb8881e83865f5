import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * `node install.mjs [folder…]` runs `npm ci` in each folder whose lock file differs from what is installed there, by
 * default in the current one. It is JavaScript, since it runs before the Node version of this project is installed. It
 * compares versions and not dates: a `git checkout` gives the lock file a new date, and an `npm ci` for that alone would
 * remove packages that other processes use.
 */
const folders = process.argv.slice(2)
for (const folder of folders.length === 0 ? ['.'] : folders) {
  if (!isInstalled(folder)) {
    const options = { cwd: folder, stdio: 'inherit', shell: onWindows() }
    const { status } = spawnSync('npm', ['ci', '--loglevel=error'], options)
    if (status !== 0) process.exit(status ?? 1)
  }
  linkNode(join(folder, 'node_modules'))
}

/**
 * Whether the packages of a folder are those of its lock file. npm lists what it has installed in a lock file too, which
 * `npm ci --dry-run` of npm 10 writes although it installs nothing.
 */
function isInstalled(folder) {
  const locked = packagesOf(join(folder, 'package-lock.json'))
  const installed = packagesOf(join(folder, 'node_modules/.package-lock.json'))
  return (
    Object.keys(installed).every((path) => path in locked) &&
    Object.entries(locked).every(([path, { version, integrity, optional }]) => {
      const found = installed[path]
      // Of those for other platforms nothing is installed. The path of the project itself is empty.
      if (!found) return path === '' || optional === true
      return found.version === version && found.integrity === integrity && existsSync(join(folder, path))
    })
  )
}

function packagesOf(path) {
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')).packages : {}
}

/**
 * Links the Node of this platform, which the lock file pins by integrity (`test/node/package.json`), as the command `node`.
 * npm 10 does not: the packages of all platforms have this command, and it removes the link with those for others.
 */
function linkNode(modules) {
  const platform = onWindows() ? 'win' : process.platform
  const [name] = [`node-${platform}-${process.arch}`, `node-bin-${platform}-${process.arch}`].filter((each) =>
    existsSync(join(modules, each)),
  )
  const command = join(modules, '.bin', onWindows() ? 'node.cmd' : 'node')
  if (!name || existsSync(command)) return
  mkdirSync(join(modules, '.bin'), { recursive: true })
  if (onWindows()) writeFileSync(command, `@"%~dp0\\..\\${name}\\bin\\node.exe" %*\r\n`)
  else symlinkSync(`../${name}/bin/node`, command)
}

/** npm is a batch file there, which only a shell runs. */
function onWindows() {
  return process.platform === 'win32'
}
