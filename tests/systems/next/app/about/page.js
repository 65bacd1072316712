export default function Page() { return <h1>Lantern</h1>; }
