import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { ModelServer } from './model-server.ts'
import { type Bundle, build, configure, serve, type Service, type Workerd } from './workerd.ts'
import type { Workload } from './workloads.ts'

export const CONFIG = 'test/bench/workers/wrangler.toml'

/** What a subject is sent for a workload. */
export interface Request {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** A loop that is measured. */
export interface Subject {
  readonly name: string
  /** Whether it stores the history in a Durable Object. */
  readonly stores: boolean
  readonly pid: number
  /** Returns the request for a workload; `conversation` is the id for a subject that stores the history. */
  request(workload: Workload, conversation: string): Request
}

/** All bundles of the bench, by name. */
export type Bundles = Readonly<Record<(typeof MAINS)[number][0], Bundle>>

const MAINS = [
  ['edge', 'src/index.ts', 'wrangler.toml'],
  ['empty', 'test/bench/workers/empty.ts', CONFIG],
  ['tools', 'test/bench/workers/tools.ts', CONFIG],
  ['raw', 'test/bench/workers/raw.ts', CONFIG],
  ['ai-sdk', 'test/bench/workers/ai-sdk.js', CONFIG],
  ['tanstack', 'test/bench/workers/tanstack.js', CONFIG],
] as const

/** Builds all Workers of the bench into folders of `folder`. */
export async function buildAll(folder: string): Promise<Bundles> {
  const built = await Promise.all(
    MAINS.map(async ([name, main, config]) => [name, await build(main, config, join(folder, name))] as const),
  )
  return Object.fromEntries(built) as Bundles
}

export interface Subjects {
  readonly subjects: readonly Subject[]
  readonly stop: () => Promise<void>
}

/** Starts every subject in a workerd of its own, beside its tools. `folder` takes what they store. */
export async function startSubjects(
  bundles: Bundles,
  { model, folder, withLibraries }: { model: ModelServer; folder: string; withLibraries: boolean },
): Promise<Subjects> {
  const started: Workerd[] = []
  const start = async (name: string, services: readonly Service[]) => {
    mkdirSync(join(folder, `run-${name}`), { recursive: true })
    const workerd = await serve(
      configure(services, join(folder, `run-${name}`)),
      services.map((service) => service.name),
    )
    started.push(workerd)
    return workerd
  }
  const tools: Service = { name: 'tools', bundle: bundles.tools }
  const beside = (name: 'raw' | 'ai-sdk' | 'tanstack', objects?: Record<string, string>) =>
    start(name, [
      {
        ...{ name, bundle: bundles[name], vars: { MODEL_URL: model.url }, services: { TOOLS: 'tools#Plain' } },
        ...(objects && { objects }),
      },
      tools,
    ])
  const edge = await start('edge', [
    edgeService('edge', bundles.edge, { url: model.url, tools: 'tools#Few' }),
    edgeService('many', bundles.edge, { url: model.url, tools: 'tools#Many' }),
    tools,
  ])
  const raw = await beside('raw', { RAW: 'Conversation' })
  const libraries = withLibraries
    ? [
        plain('AI SDK', await beside('ai-sdk'), 'ai-sdk', '/'),
        plain('TanStack AI', await beside('tanstack'), 'tanstack', '/'),
      ]
    : []
  return {
    subjects: [
      plain('raw', raw, 'raw', '/raw'),
      plain('raw-sse', raw, 'raw', '/raw-sse'),
      { ...plain('raw-do', raw, 'raw', '/raw-do'), stores: true },
      { ...chat('edge', edge), stores: false },
      { ...chat('edge, stored', edge), stores: true },
      native('edge, native', edge),
      ...libraries,
    ],
    stop: async () => void (await Promise.all(started.map((workerd) => workerd.stop()))),
  }
}

/** An edge as `src/index.ts` deploys it, without stored tools. */
export function edgeService(name: string, bundle: Bundle, { url, tools }: { url: string; tools: string }): Service {
  return {
    name,
    bundle,
    vars: {
      AUTH: 'open',
      MODEL: 'openai/answer-8',
      MODELS: 'openai/*',
      OPENAI_BASE_URL: url,
      // As long as a real one: the edge takes it out of all that a model says.
      OPENAI_API_KEY: `sk-proj-${'aB3dE9fGhIjKlMnOpQrStUvWxYz01245678_-'.repeat(5).slice(0, 156)}`,
      // All tools are sent, as by every other subject.
      TOOL_SEARCH: 'off',
    },
    services: { TOOL_BENCH: tools },
    objects: { CONVERSATIONS: 'Conversation', DIRECTORIES: 'Directory' },
  }
}

const JSON_TYPE = { 'content-type': 'application/json' }

function plain(name: string, { pid, urls }: Workerd, service: string, path: string): Subject {
  return {
    ...{ name, pid, stores: false },
    request: ({ model, messages, stream = false, many, tools }, conversation) => ({
      url: `${urls[service]}${path}${path === '/raw-do' ? `/${conversation}` : ''}${many ? '?tools=many' : ''}`,
      headers: JSON_TYPE,
      body: JSON.stringify({ model, messages, stream, tools }),
    }),
  }
}

function chat(name: string, { pid, urls }: Workerd): Omit<Subject, 'stores'> {
  const isStored = name.endsWith('stored')
  return {
    ...{ name, pid },
    request: ({ model, messages, stream = false, many, tools }, conversation) => ({
      url: `${many ? urls['many'] : urls['edge']}/v1/chat/completions`,
      headers: { ...JSON_TYPE, ...(isStored && { 'x-conversation-id': conversation }) },
      // Tools that the caller sends are its only ones here, so that the run needs no conversation.
      body: JSON.stringify({
        ...{ model: `openai/${model}`, messages, stream },
        ...(tools && { tools, edgecall: { tools: [] } }),
      }),
    }),
  }
}

function native(name: string, { pid, urls }: Workerd): Subject {
  return {
    ...{ name, pid, stores: false },
    request: ({ model, messages, stream = false, many, tools }) => ({
      url: `${many ? urls['many'] : urls['edge']}/runs`,
      headers: { ...JSON_TYPE, accept: stream ? 'text/event-stream' : 'application/json' },
      body: JSON.stringify({
        ...{ model: `openai/${model}`, input: messages },
        ...(tools && { clientTools: tools.map(toClientTool), tools: [] }),
      }),
    }),
  }
}

function toClientTool(tool: object): object {
  const { name, description, parameters: inputSchema } = (tool as { function: Record<string, unknown> }).function
  return { name, description, inputSchema }
}
