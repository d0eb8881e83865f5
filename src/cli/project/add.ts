import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { Failure } from '../failure.ts'
import { agentFiles } from './agent-files.ts'
import { bindService, type ServiceBinding } from './bind.ts'
import { findConfig, readConfigFile } from './config-file.ts'
import { exportedTools, exportTool } from './exported-tools.ts'
import { writeFiles } from './files.ts'
import { httpToolFiles } from './http-tool-files.ts'
import { namesOf } from './names.ts'
import { toolFiles } from './tool-files.ts'

/** What was added to a project. */
export interface Added {
  readonly files: readonly string[]
  /** The configuration that was changed, and the binding that it has now. */
  readonly bound?: ServiceBinding & { readonly config: string }
  /** What keeps it from being available yet. Default: nothing. */
  readonly note?: string
  /** The module that was changed, and the name under which it exports the tool Worker now. */
  readonly exported?: { readonly name: string; readonly module: string }
}

/**
 * Adds a tool Worker, or a Worker of agents, and binds it to the edge. An edge that exports tool Workers from its own
 * module exports the new one too.
 */
export function addWorker(root: string, kind: 'tool' | 'agent', text: string): Added {
  const { config, edge } = readEdge(root)
  const names = namesOf(text)
  const service = `${edge}-${names.kebab}`
  const files = (kind === 'tool' ? toolFiles : agentFiles)(names, service)
  if (existsSync(join(root, 'tools', names.kebab))) {
    throw new Failure(`There is already tools/${names.kebab}.`, 'Choose another name.')
  }
  const { main } = readConfigFile(root, config)
  if (kind === 'tool' && typeof main === 'string' && exportedTools(root, main).length > 0) {
    exportTool(root, main, { name: names.binding, module: `tools/${names.kebab}/index.ts` })
    writeFiles(root, files)
    return { files: Object.keys(files), exported: { name: names.binding, module: main } }
  }
  const binding = { binding: names.binding, service }
  bindService(root, config, binding)
  writeFiles(root, files)
  const added = { files: Object.keys(files), bound: { ...binding, config } }
  if (kind === 'tool') return added
  const folder = `tools/${names.kebab}`
  return {
    ...added,
    note: `The edge lists it as not available until it has a model of its own: on your machine, put MODEL and the model's key into ${folder}/.dev.vars; to deploy it, see ${folder}/wrangler.toml.`,
  }
}

/** Adds a stored tool that sends an HTTP request. It needs no binding: `dev` and `deploy` store it. */
export function addHttpTool(root: string, text: string): Added {
  readEdge(root)
  if (!findConfig(root, 'tools/definitions')) {
    throw new Failure(
      'There is no Worker in tools/definitions, which performs stored tools.',
      'An edge with stored tools has it, and the bindings DEFINITIONS, TOOLS and CATALOG: see a project of edgecall init.',
    )
  }
  const files = httpToolFiles(namesOf(text))
  writeFiles(root, files)
  return { files: Object.keys(files) }
}

/** Reads the name of the edge. Throws a Failure if this is not the folder of one. */
export function readEdge(root: string): { readonly config: string; readonly edge: string } {
  const config = findConfig(root, '')
  if (config === undefined) {
    throw new Failure(
      `There is no wrangler.toml in ${root}.`,
      'Run this in the folder of your edge, or make one: edgecall init <folder>',
    )
  }
  const { name } = readConfigFile(root, config)
  if (typeof name !== 'string') throw new Failure(`${config} has no \`name\`.`)
  return { config, edge: name }
}
