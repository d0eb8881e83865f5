import { DefaultChatTransport, type UIMessage } from 'ai'
import { Chat, linesOf } from './chat.ts'

const id = sessionStorage.getItem('chat') ?? crypto.randomUUID()
sessionStorage.setItem('chat', id)

const list = document.querySelector('ol')
const form = document.querySelector('form')
const alert = document.querySelector('[role=alert]')

const chat = new Chat({
  id,
  transport: new DefaultChatTransport({ api: '/chat' }),
  messages: await load(),
  onChange: (messages) => {
    enable()
    render(messages)
  },
  onError: ({ message }) => say(message),
})
render(chat.messages)

form?.addEventListener('submit', (event) => {
  event.preventDefault()
  const text = new FormData(form).get('text')
  form.reset()
  say('')
  if (typeof text === 'string') void chat.sendMessage({ text })
})

// An answer that was under way when the page was reloaded continues, or has ended just before.
await chat.resumeStream()
if (chat.lastMessage?.role === 'user') {
  chat.messages = await load()
  render(chat.messages)
}
enable()

/** Loads the messages of the chat, with the calls that wait for a decision. */
async function load(): Promise<UIMessage[]> {
  const response = await fetch(`/chat/${id}`)
  if (response.ok) return response.json()
  say(await response.text())
  return []
}

function enable(): void {
  document.querySelector('fieldset')?.removeAttribute('disabled')
}

function say(text: string): void {
  if (alert) alert.textContent = text
}

function render(messages: readonly UIMessage[]): void {
  list?.replaceChildren(...messages.map(item))
}

function item(message: UIMessage): HTMLLIElement {
  const element = document.createElement('li')
  element.className = message.role
  for (const { text, approval } of linesOf(message)) {
    const line = document.createElement('p')
    line.textContent = text
    element.append(line, ...(approval === undefined ? [] : [button('Approve', approval), button('Reject', approval)]))
  }
  return element
}

function button(label: 'Approve' | 'Reject', call: string): HTMLButtonElement {
  const element = document.createElement('button')
  element.textContent = label
  element.addEventListener('click', () => {
    say('')
    void chat.addToolApprovalResponse({ id: call, approved: label === 'Approve' })
  })
  return element
}
