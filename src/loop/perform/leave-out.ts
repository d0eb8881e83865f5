import type { PlacedMessage } from '../../contract/context.ts'
import type { Message, PartRefusal } from '../../contract/message.ts'
import type { PartPlace, ModelError, ModelRequest } from '../../contract/model.ts'
import { addUsage, type Usage } from '../../contract/usage.ts'
import { clip } from '../effects.ts'
import type { Running } from '../running.ts'
import { sentMessages } from '../window/planner.ts'
import { type ItemPart, sizeOfFile, sizeOfOpaque } from '../window/refused.ts'

/** How often a step leaves parts of messages out. */
const MOST_REFUSALS = 4
/** The most characters of what the server said that the model and callers are told. */
const MOST_REASON = 200

/** A part of a message that the server may have refused. */
interface Suspect {
  readonly refusal: PartRefusal
  /** Absent for what a provider wanted back with an answer. */
  readonly file?: ItemPart
}

/**
 * Returns the parts of messages for which the server of the model has refused a request: those that it named. If it named
 * none, its model is asked about halves of them, a few times at most. Empty if it refused something else, or if enough
 * was left out in this step. `usage`: that of the questions, as far as the model reports it. Never rejects.
 */
export async function findRefused(
  running: Running,
  error: ModelError,
  request: ModelRequest,
): Promise<{ readonly refusals: readonly PartRefusal[]; readonly usage?: Usage | undefined }> {
  const search: Search = { running, request }
  const refusals = await refusalsIn(search, error)
  return { refusals, usage: search.usage }
}

interface Search {
  readonly running: Running
  readonly request: ModelRequest
  usage?: Usage
}

async function refusalsIn(search: Search, { item, message }: ModelError): Promise<readonly PartRefusal[]> {
  const { running, request } = search
  if (!item?.items || (running.state.step?.refusalCount ?? 0) >= MOST_REFUSALS) return []
  const placed = sentMessages(running)
  const reason = clip(message, MOST_REASON)
  const suspects = item.items.flatMap((place) => suspectAt(running, placed, { place, request, reason }))
  if (suspects.length === 0) return []
  const isSure = item.isNamed || item.about === 'reasoning' || item.about === 'files'
  if (isSure || (suspects.length === 1 && item.about === 'file')) return suspects.map(({ refusal }) => refusal)
  const files = suspects.filter(({ file }) => file)
  // What the server does not explain may have nothing to do with files.
  if (item.about === 'unknown' && (await accepts(search, files)) !== false) return []
  const culprit = await searchIn(search, files)
  return culprit ? [culprit.refusal] : []
}

/** Finds a part that is refused among several, of which at least one is. */
async function searchIn(search: Search, suspects: readonly Suspect[]): Promise<Suspect | undefined> {
  let rest = suspects
  while (rest.length > 1) {
    const half = rest.slice(0, Math.ceil(rest.length / 2))
    const isAccepted = await accepts(search, half)
    if (isAccepted === undefined) return undefined
    rest = isAccepted ? rest.slice(half.length) : half
  }
  return rest[0]
}

const QUESTION = 'Answer with OK.'
/** OpenAI takes no lower limit. */
const FEWEST_TOKENS = 16

/** Whether the server accepts these files. Undefined if it failed for another reason. */
async function accepts(search: Search, suspects: readonly Suspect[]): Promise<boolean | undefined> {
  const { model, signal } = search.running
  const { patience } = search.request
  const content = [...suspects.flatMap(({ file }) => file ?? []), { type: 'text', text: QUESTION } as const]
  const probe: ModelRequest = {
    messages: [{ role: 'user', content }],
    tools: [],
    sampling: { max_completion_tokens: FEWEST_TOKENS },
    ...(patience && { patience }),
  }
  // The first event tells; the last one has the usage.
  let isAccepted: true | undefined
  for await (const event of model.stream(probe, signal)) {
    if (signal.aborted) return undefined
    if (event.type === 'error') return isAccepted ?? (event.error.code === 'model_refused_request' ? false : undefined)
    if (event.type === 'finish' && event.usage)
      search.usage = search.usage ? addUsage(search.usage, event.usage) : event.usage
    isAccepted = true
  }
  return isAccepted
}

/** Returns the part at a place of a request as a part of the conversation; none for what a hook has added. */
function suspectAt(
  { model }: Running,
  placed: readonly PlacedMessage[],
  { place, request, reason }: { readonly place: PartPlace; readonly request: ModelRequest; readonly reason: string },
): readonly Suspect[] {
  const source = request.messages[place.message]
  if (!source) return []
  const common = { model: model.name, reason }
  if (place.part === 'opaque') {
    const opaque = source.role === 'assistant' ? source.opaque : undefined
    const own = placed.find(({ message }) => message.role === 'assistant' && opaque && message.opaque === opaque)
    if (!own || !opaque) return []
    return [{ refusal: { position: own.position, part: place.part, size: sizeOfOpaque(opaque), ...common } }]
  }
  const file = fileAt(source, place.part)
  if (!file) return []
  for (const { position, message } of placed) {
    const part = indexOfFile(message, file)
    if (part >= 0) return [{ refusal: { position, part, size: sizeOfFile(file), ...common }, file }]
  }
  return []
}

function fileAt(message: Message, index: number): ItemPart | undefined {
  const part = message.role === 'user' || message.role === 'tool' ? message.content[index] : undefined
  return typeof part === 'object' && part.type !== 'text' ? part : undefined
}

/** Returns the index of a file in a message, by its data: a hook may have copied it. */
function indexOfFile(message: Message, file: ItemPart): number {
  if (message.role === 'system' || message.role === 'assistant' || typeof message.content === 'string') return -1
  return message.content.findIndex((part) => {
    if (part.type === 'text') return false
    if ('url' in part || 'url' in file) return 'url' in part && 'url' in file && part.url === file.url
    return part.data === file.data
  })
}
