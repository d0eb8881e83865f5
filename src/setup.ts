import { readConfig } from './contract/config.ts'
import type { ConversationService, DirectoryService, Objects } from './contract/conversation.ts'
import type { DefinitionService } from './contract/definition.ts'
import type { ModelProvider } from './contract/model.ts'
import type { Setup } from './contract/setup.ts'
import type { ToolService } from './contract/tool.ts'
import { modelChooser } from './model/choose.ts'
import { openai } from './model/openai.ts'
import { logs } from './observe/log.ts'
import { matches } from './tool/glob.ts'
import { chain } from './tool/source/chain.ts'
import { kvSource } from './tool/source/kv.ts'
import { serviceSource } from './tool/source/service.ts'

/** The bindings, variables and secrets of the edge Worker. Whatever is named `TOOL_*` is a tool Worker. */
export interface Env {
  readonly CONVERSATIONS: Objects<ConversationService>
  readonly DIRECTORIES: Objects<DirectoryService>
  readonly TOOLS: KVNamespace
  readonly DEFINITIONS: DefinitionService
  readonly OPENAI_BASE_URL?: string
  readonly OPENAI_API_KEY?: string
  readonly [name: string]: unknown
}

/**
 * What this edge is made of. The one file that reads the env and names bindings, and yours to edit: add a model
 * provider, a tool source or a check here. Called once for an isolate. `providers` are those of a door that has more.
 */
export function setup(env: Env, providers: Readonly<Record<string, ModelProvider>> = {}): Setup {
  const config = readConfig(env)
  const services = serviceSource({ bindings: toolWorkers(env), offered: (name) => matches(config.defaultTools, name) })
  const stored = kvSource({
    namespace: env.TOOLS,
    definitions: env.DEFINITIONS,
    hosts: config.httpToolHosts,
    secret: (name) => secretOf(env, name),
    services,
  })
  return {
    config,
    models: modelChooser({
      providers: { openai: openai({ baseUrl: env.OPENAI_BASE_URL, apiKey: env.OPENAI_API_KEY }), ...providers },
      defaultModel: config.model,
      allowed: config.models,
      prices: config.prices,
    }),
    tools: chain([services, stored]),
    stored,
    conversations: env.CONVERSATIONS,
    directories: env.DIRECTORIES,
    report,
    loop: {
      validate: (schema, value) => env.DEFINITIONS.validate(schema, value),
      ...(config.log === 'runs' && { observe: logs(report, config) }),
    },
  }
}

function report(entry: object): void {
  console.error(JSON.stringify(entry))
}

function toolWorkers(env: Env): Record<string, ToolService> {
  return Object.fromEntries(
    Object.entries(env).filter(
      (entry): entry is [string, ToolService] => entry[0].startsWith('TOOL_') && isBinding(entry[1]),
    ),
  )
}

/** A variable may begin with TOOL_ too; a service binding is an object. */
function isBinding(value: unknown): boolean {
  return typeof value === 'object' && value !== null
}

/** Stored definitions name secrets; only what begins with SECRET_ may be named. */
function secretOf(env: Env, name: string): string | undefined {
  const value = name.startsWith('SECRET_') ? env[name] : undefined
  return typeof value === 'string' ? value : undefined
}
