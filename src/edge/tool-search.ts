import { embeddingsStub } from '../catalogue/stub.ts'
import { ConfigError } from '../contract/config.ts'
import type { Embed } from '../contract/model.ts'
import { isObject } from '../contract/json.ts'
import { type NamedTool, selectsTool } from '../contract/tool-names.ts'
import type { Caller } from '../contract/tool.ts'
import { withDeadline } from '../contract/time-limit.ts'
import { createFinder } from '../search/finder.ts'
import {
  createFusedIndex,
  createSemanticIndex,
  growingVectors,
  type VectorizeBinding,
  vectorizeVectors,
  storedEmbeddings,
} from '../search/semantic-index.ts'
import { searchHook, type SearchHookOptions } from '../search/hook.ts'
import { createKeywordIndex } from '../search/keyword-index.ts'
import type { ToolIndex } from '../search/tool-index.ts'
import type { Env } from './env.ts'
import type { Part } from './part.ts'

export interface ToolSearchPartOptions extends Omit<SearchHookOptions, 'when' | 'finder' | 'mayFind' | 'index'> {
  /** Makes the index of all tools, such as `workersAiIndex()`. Default: by keywords, with `translate`. */
  readonly index?: (env: Env) => ToolIndex
}

/**
 * Tool search: with many tools, models get `tool_search` in place of them (`TOOL_SEARCH`), and `GET /tools?query=` ranks
 * them.
 *
 * @example createEdge({ providers: { openai: openaiFromEnv }, use: [toolSearch({ always: ['currentTime'] })] })
 */
export function toolSearch({ index, ...options }: ToolSearchPartOptions = {}): Part {
  return {
    name: 'toolSearch',
    extend: ({ env, config: { toolSearch: when, defaultTools }, hooks, setup }) => {
      const { translate } = options
      const search = (tools: Parameters<typeof createFinder>[0]) => createFinder(tools, index?.(env), options)
      if (when === 'off') return { search, translate }
      const finder = (caller: Caller) =>
        setup().finder?.(caller) ?? createFinder(setup().tools(caller), undefined, options)
      // A list of whole names leaves nothing to be found beyond what is on offer.
      const isOpen = defaultTools.some((pattern) => pattern.includes('*'))
      const mayFind = (tool: NamedTool) => selectsTool(defaultTools, tool)
      const ranking = () => setup().loop?.judge?.rank
      const hook = searchHook({ ranking, ...options, when, mayFind, ...(isOpen && { finder }) })
      return { search, translate, hooks: [...hooks, hook] }
    },
  }
}

export interface WorkersAiIndexOptions {
  /** A model for embeddings. Default: `@cf/baai/bge-m3`, which knows more than 100 languages. */
  readonly model?: string
}

/** How many tools are read at once; 1,000 vectors of 1,024 bytes are far below the 32 MiB of one RPC answer. */
const BATCH = 960

/**
 * Makes an index that finds tools by words and by meaning, in any language, with a model of Workers AI (binding `AI`).
 * A text is embedded once: its vector is kept in the catalogue (`CATALOG`), if the edge has one. Above 20,000 tools the
 * vectors are in Vectorize, if there is a binding `VECTORS`.
 *
 * @example createEdge({ providers: { openai: openaiFromEnv }, use: [toolSearch({ index: workersAiIndex() })] })
 */
export function workersAiIndex({ model = '@cf/baai/bge-m3' }: WorkersAiIndexOptions = {}): (env: Env) => ToolIndex {
  return ({ AI: ai, CATALOG: catalogues, VECTORS: vectorize }) => {
    if (!isEmbedder(ai)) throw new ConfigError('AI', 'a binding to Workers AI')
    const embed = embedWith(ai, model)
    const service = catalogues && embeddingsStub(catalogues)
    const vectors =
      service && isVectorize(vectorize)
        ? growingVectors({ large: vectorizeVectors(vectorize, 'tools'), service, name: `${model} in Vectorize` })
        : undefined
    const semantic = createSemanticIndex({
      embed,
      ...(service && { embedTools: storedEmbeddings({ model, embed, service }), batch: BATCH }),
      vectors,
    })
    return createFusedIndex(createKeywordIndex(), semantic)
  }
}

interface EmbedderBinding {
  run(model: string, inputs: { readonly text: readonly string[] }): Promise<unknown>
}

/** How long the model may take for one request, in milliseconds. */
const EMBED_MS = 10_000

/** Returns the embedder of a model. Rejects for an answer without vectors, and if there is none within ten seconds. */
function embedWith(ai: EmbedderBinding, model: string): Embed {
  return async (texts) => {
    const answer = await withDeadline(EMBED_MS, ai.run(model, { text: texts }))
    const vectors: unknown = isObject(answer) ? answer['data'] : undefined
    if (Array.isArray(vectors) && vectors.every(isVector)) return vectors
    throw new TypeError(`The model ${model} answered without vectors`)
  }
}

function isVector(value: unknown): value is readonly number[] {
  return Array.isArray(value) && value.every((number) => typeof number === 'number')
}

function isEmbedder(binding: unknown): binding is EmbedderBinding {
  return isObject(binding) && typeof binding['run'] === 'function'
}

function isVectorize(binding: unknown): binding is VectorizeBinding {
  return isObject(binding) && typeof binding['query'] === 'function'
}
