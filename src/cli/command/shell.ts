import { relative } from 'node:path'
import { fileURLToPath, URL } from 'node:url'

/**
 * Returns what a person types in a shell to run a command of edgecall, such as `npx edgecall ask`. Run from the
 * sources, as by `npm start` in a clone, the package is not built and npx does not find it: then Node runs the sources.
 *
 * @param command the name of the command and its arguments
 * @param folder the folder of the shell
 * @param module the URL of a module in this folder: it tells the sources from the package
 */
export function shellCommand(
  command: string,
  folder: string = process.cwd(),
  module: string = import.meta.url,
): string {
  if (!module.endsWith('.ts')) return `npx edgecall ${command}`
  // npx, because the node of the project may be newer than that of the shell.
  return `npx node ${relative(folder, fileURLToPath(new URL('../main.ts', module)))} ${command}`
}

/** Returns an argument as it is typed in a shell: in quotes where it needs them. */
export function quoteArgument(argument: string): string {
  return /^[\w./:@-]+$/.test(argument) ? argument : `'${argument.replaceAll("'", "'\\''")}'`
}
