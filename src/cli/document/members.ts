import type { Handling, Members } from '../../wire/client/members.ts'
import { BLOCK_MEMBERS, PART_MEMBERS } from '../../wire/client/anthropic-messages/nested-members.ts'
import { EMBEDDING_MEMBERS } from '../../wire/client/embeddings.ts'
import { MESSAGES_MEMBERS } from '../../wire/client/anthropic-messages/members.ts'
import { CHAT_MEMBERS } from '../../wire/client/openai-chat/members.ts'
import {
  CALL_MEMBERS,
  CONTENT_MEMBERS,
  MESSAGE_MEMBERS,
  CHAT_PARTS,
  TOOL_MEMBERS,
} from '../../wire/client/openai-chat/nested-members.ts'
import { RESPONSES_MEMBERS } from '../../wire/client/openai-responses/members.ts'
import {
  CALLER_TOOL_MEMBERS,
  INPUT_PART_MEMBERS,
  ITEM_MEMBERS,
  RESPONSES_PARTS,
} from '../../wire/client/openai-responses/nested-members.ts'
import { markdownTable } from './table.ts'

const HANDLINGS: readonly Handling[] = ['honoured', 'forwarded', 'vendor', 'telemetry', 'ignored', 'refused']

const INTRODUCTION = `# Members of requests

<!-- Written by \`npm run openapi\` from src/cli/document/members.ts and the tables in src/wire/client. -->

Applications send members that only their vendor’s own server can honour. What the edge does with each member of a request is in the tables below:

- **honoured**: the edge does what it says.
- **forwarded**: it is passed to the model, if the model’s provider has such a member.
- **vendor**: it is passed to a model of this vendor (OpenAI’s and Azure’s servers; those that speak Anthropic Messages), and ignored for any other.
- **telemetry**: the same for what only says who asks. Nothing refuses it.
- **ignored**: it only hints, and the request is answered without it. The header \`edgecall-ignored\` of the answer names it, and the log has an
  entry [\`members.ignored\`](logs.md). A member that the edge does not know is ignored, too.
- **refused**: without it, the answer would mean something else. The answer is 400, \`unsupported_parameter\`. A value that asks for what the edge
  does anyway is accepted, such as \`n: 1\`.

With \`CLIENT_MEMBERS=strict\`, what would be ignored is refused, but for telemetry. Neither null nor, for a member that is ignored, \`false\` asks for anything.

\`reasoning.summary\` and \`reasoning.context\` are for models of the vendor, too, and so are names in the header \`anthropic-beta\` that change how a
model answers, such as \`interleaved-thinking-…\`. Other names there that the edge does not know are ignored.

\`context_management\` of \`/v1/messages\` is done by the edge, whatever the model, by estimates of tokens, in requests that name no conversation:
\`clear_tool_uses_20250919\`, \`clear_thinking_20251015\`, and \`compact_20260112\`, for which the model first writes a summary. The answer begins with it, as
a block \`compaction\`, which stands for all messages before it in later requests. \`compaction\` asks for the summary alone. Other edits are ignored.

A file under a URL that the edge may not or cannot fetch for a model ([\`FILE_HOSTS\`](configuration.md)) is named by a text in its place, with the reason.

A request without \`tools\` gets the tools of the edge, also that of an application for a title or a summary. If applications ask another model for
those, \`toolsOf\` of [the setup](parts.md) can offer none to it. \`tools: []\` and \`tool_choice: "none"\` get none, unless \`edgecall.tools\` names some.

A tool that the vendor would run, such as \`web_search\`, stands for the [tool of that name](provider-tools.md) at the edge. If the edge has none, or
does not know its type, it is not offered, and \`edgecall-ignored\` names its place in the request (\`tools[2]\`); if it has one, the operator sets how that works, so that members
such as \`max_uses\` are ignored. A \`tool_choice\` of a tool that is not there is refused.

In \`/v1/responses\` and \`/v1/messages\`, a name of a tool of the caller may have 128 characters. A model is told a name of over 64 in a shortened form, and
the caller gets its own back.

A tool of the caller takes the place of the edge’s tool of its name: for this request, that is not offered, neither a search nor a program reaches it, and
\`edgecall-ignored\` says \`edgecall.tools.<name>\`. The caller alone runs its tool. Calls that the edge’s tool has had in a conversation stay what they
were. Such a tool is refused (\`tool_name_conflict\`) with \`CLIENT_MEMBERS=strict\`, on the native API, if it is new in a run in which the edge’s tool is on
offer, and always if its name is \`read_result\`.

Tools with \`defer_loading\` are told to a model once a search of the caller has found them: a \`tool_reference\` in a result, or a
\`tool_search_output\`. A model of Anthropic’s gets them as references, so that its prompt stays cached. Anthropic’s own search
(\`tool_search_tool_regex\`, \`…_bm25\`) is passed to its models with the deferred tools; for any other model, and in place of OpenAI’s own search, all tools are
told from the start, and \`edgecall-ignored\` names the search.

A \`custom\` tool of Chat Completions is a function with one text for the model, which is told of its grammar, and for OpenAI’s Responses API a custom tool too; its calls go back as \`custom\`, and
a history, a \`tool_choice\` and \`allowed_tools\` may have it.

Tools that Anthropic defines and the caller runs (\`bash_…\`, \`text_editor_…\`, \`memory_…\`, \`computer_…\`) are declared to models of Anthropic’s as they
are. For any other model, and for a server of the Messages API that refuses them, they are functions with the arguments that Anthropic documents.

Tools of the Responses API that the caller runs and that are not plain functions are functions for the model: \`custom\` tools, those in a
\`namespace\`, \`local_shell\`, \`shell\`, \`apply_patch\` and a \`tool_search\` with \`execution: "client"\`, also in an item \`additional_tools\`. Their calls
go back in the form that the caller has declared. A model on OpenAI’s or Azure’s servers gets all of these but a \`namespace\` [as declared](schemas.md). An item \`agent_message\` is read as a message of a user. A stored response that is read later by its id has them as calls of functions.
`

/** Returns the pages of docs/ on the members of requests, by file. */
export function memberPages(): Readonly<Record<string, string>> {
  const sections = [
    section('`POST /v1/chat/completions`', CHAT_MEMBERS),
    withinMembers([MESSAGE_MEMBERS, CONTENT_MEMBERS, CALL_MEMBERS, TOOL_MEMBERS, CHAT_PARTS]),
    section('`POST /v1/responses`', RESPONSES_MEMBERS),
    withinMembers([ITEM_MEMBERS, INPUT_PART_MEMBERS, CALLER_TOOL_MEMBERS, RESPONSES_PARTS]),
    section('`POST /v1/messages`', MESSAGES_MEMBERS),
    `${withinMembers([PART_MEMBERS, BLOCK_MEMBERS])}\nFiles by \`file_id\` are refused. Toolsets (\`…_toolset_…\`) are not offered, and named by their place.\n`,
    section('`POST /v1/embeddings`', EMBEDDING_MEMBERS),
    EMBEDDINGS,
  ]
  return { 'members.md': [INTRODUCTION, ...sections].join('\n') }
}

const EMBEDDINGS = `The request is passed to the provider of the model, which is named and allowed (\`MODELS\`) as any other. The provider must speak a format of
OpenAI’s (\`openai\` and \`responses\` of [the providers](models.md)); for any other, the answer is 404. The embeddings come as the provider sends them. What it reports as
used counts for the [budget](limits.md) of the key, with the price of the model, as a run of its own; no run is listed.
`

/** Says of members within members which are not honoured. */
function withinMembers(tables: readonly Readonly<Record<string, Members>>[]): string {
  const placesOf = (wanted: Handling) => {
    const places = tables
      .flatMap((table) => Object.entries(table))
      .flatMap(([place, members]) => {
        const names = Object.keys(members).filter((name) => members[name] === wanted)
        const isWhole = members['type'] === wanted || members['role'] === wanted
        return isWhole ? [`\`${place}\``] : names.map((name) => `\`${place}.${name}\``)
      })
    return [...new Set(places)].join(', ')
  }
  return (
    `Within members, and in messages and parts of content by their role or type, these are ignored, as are those that the edge does not know: ${placesOf('ignored')}. ` +
    `These are refused, if they ask for something: ${placesOf('refused')}.\n`
  )
}

function section(title: string, members: Members): string {
  const rows = HANDLINGS.map((handling) => {
    const names = Object.keys(members).filter((name) => members[name] === handling)
    return [handling, names.map((name) => `\`${name}\``).join(', ')]
  })
  return `## ${title}\n\n${markdownTable([['', 'members'], ...rows])}`
}
