"use strict";

const all = selector => [...document.querySelectorAll(selector)];

function choose(variant) {
	for (const e of all("[data-variant]")) e.hidden = e.dataset.variant !== variant;
}

function zoom(factor) {
	document.body.classList.toggle("large", factor === "2");
	for (const stack of all(".stack")) {
		const view = stack.parentElement;
		const x = (view.scrollLeft + view.clientWidth / 2) / stack.clientWidth;
		const y = (view.scrollTop + view.clientHeight / 2) / stack.clientHeight;
		stack.style.width = factor === "fit" ? "" : stack.dataset.width * factor / devicePixelRatio + "px";
		view.scrollLeft = x * stack.clientWidth - view.clientWidth / 2;
		view.scrollTop = y * stack.clientHeight - view.clientHeight / 2;
	}
}

function check(name, index) {
	const options = all(`input[name=${name}]`);
	const option = options[index % options.length];
	if (!option) return;
	option.checked = true;
	option.dispatchEvent(new Event("change", {bubbles: true}));
}

for (const section of all("section")) {
	const stack = section.querySelector(".stack"), split = section.querySelector(".split");
	const place = () => stack.style.setProperty("--at", split.value / 10 + "%");
	split.addEventListener("input", place);
	const line = stack.querySelector(".line");
	line.addEventListener("pointerdown", e => {
		line.setPointerCapture(e.pointerId);
		e.preventDefault();
	});
	line.addEventListener("pointermove", e => {
		if (!line.hasPointerCapture(e.pointerId)) return;
		const box = stack.getBoundingClientRect();
		split.value = 1000 * (e.clientX - box.left) / box.width;
		place();
	});
}

document.addEventListener("change", e => {
	if (e.target.name === "variant") choose(e.target.value);
	if (e.target.name === "zoom") zoom(e.target.value);
});

document.addEventListener("click", async e => {
	if (!e.target.matches(".copy")) return;
	const code = e.target.parentElement.querySelector("code");
	try {
		await navigator.clipboard.writeText(code.textContent);
		e.target.textContent = "Copied";
	} catch { // not allowed for files in some browsers
		getSelection().selectAllChildren(code);
		e.target.textContent = document.execCommand("copy") ? "Copied" : "Selected";
	}
});

document.addEventListener("keydown", e => {
	if (e.ctrlKey || e.metaKey || e.altKey) return;
	const sections = all("section");
	const go = step => {
		const now = sections.findIndex(s => s.getBoundingClientRect().bottom > innerHeight / 3);
		sections[Math.min(Math.max(now + step, 0), sections.length - 1)].scrollIntoView();
	};
	if (e.key >= "1" && e.key <= "9") {
		if (+e.key <= all("input[name=variant]").length) check("variant", e.key - 1);
	} else if (e.key === "z" || e.key === "Z") {
		check("zoom", all("input[name=zoom]").findIndex(i => i.checked) + 1);
	} else if (e.key === "n" || e.key === "N") go(1);
	else if (e.key === "p" || e.key === "P") go(-1);
});
