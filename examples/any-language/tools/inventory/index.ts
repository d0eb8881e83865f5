interface Env {
  readonly INVENTORY_URL: string
  /** A secret that the server knows too, so that it answers this Worker alone. */
  readonly INVENTORY_TOKEN?: string
}

/** Passes calls of the edge on to the server, and its answers back. */
export default {
  fetch(request, { INVENTORY_URL, INVENTORY_TOKEN = '' }) {
    const { pathname } = new URL(request.url)
    const passedOn = new Request(`${INVENTORY_URL}${pathname}`, request)
    passedOn.headers.set('authorization', `Bearer ${INVENTORY_TOKEN}`)
    return fetch(passedOn)
  },
} satisfies ExportedHandler<Env>
