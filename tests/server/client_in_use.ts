// What a program does with the client for JavaScript; compiled by test_embedding.py, and run by nobody.
import { Viewfinder, ViewfinderError, type Hit, type Results } from "./viewfinder-client.js";
const server = new Viewfinder({ server: "https://pictures.example", token: async (renew: boolean) => (renew ? "b" : "a") });
const session = await server.createSession({ body: { questioner: "information_gain", n: 24 } });
const results: Results = await server.takeTurn({ id: session.id, body: { say: "a dog" }, fields: ["name", "price"], sort: "-price" });
const hit: Hit | undefined = results.results[0];
const price: string | undefined = hit?.fields?.price?.[0];
for await (const { event, data } of server.turnEvents({ id: session.id, number: results.turn })) {
  if (event === "question") console.log(data["question"], price);
}
const blob: Blob = await server.pictureThumbnail({ picture: hit!.id, size: 160 });
await server.upload({ body: blob });
const nothing: void = await server.deleteSession({ id: session.id });
const live = await server.live();
console.log(live.ok, nothing, server.address(hit!.thumbnail ?? "/", { size: 320 }));
// @ts-expect-error: a turn says something
await server.takeTurn({ id: session.id, body: { shout: "a dog" } });
// @ts-expect-error: no such size
await server.pictureThumbnail({ picture: "p", size: 161 });
// @ts-expect-error: the id is needed
await server.getSession({});
try { await server.version(); } catch (error) { if (error instanceof ViewfinderError) console.log(error.type, error.status); }
