package warehouse

import (
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"maps"
	"os"
	"strings"
	"testing"
)

// TestNothingIsHidden checks that no type has a method or a field of the name of one that it inherits. If one did, the
// inherited one would be called by mistake wherever the other is forgotten: a method of Warehouse that writes to the
// shard of an account would become one of pool that writes to the first shard.
func TestNothingIsHidden(t *testing.T) {
	t.Parallel()
	entries, err := os.ReadDir(".")
	must(t, err)
	var files []*ast.File
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".go") && !strings.HasSuffix(e.Name(), "_test.go") {
			file, err := parser.ParseFile(gotoken.NewFileSet(), e.Name(), nil, 0)
			must(t, err)
			files = append(files, file)
		}
	}
	if names := hiddenNames(files...); len(names) > 0 {
		t.Errorf("hidden: %q", names)
	}
	broken, err := parser.ParseFile(gotoken.NewFileSet(), "broken.go", `package p
type a struct{ x, y int }
func (a) save() {}
type b struct{ *a; y int }
type c struct{ b }
func (*c) save() {}`, 0)
	must(t, err)
	if names := hiddenNames(broken); len(names) != 3 { // y by b, and so in c, and save by c
		t.Errorf("found in the broken file: %q", names)
	}
}

// hiddenNames lists what is hidden in the types of a package, as outer.inner.name.
func hiddenNames(files ...*ast.File) (hidden []string) {
	own, embedded := map[string]map[string]bool{}, map[string][]string{}
	add := func(typ, name string) {
		if own[typ] == nil {
			own[typ] = map[string]bool{}
		}
		own[typ][name] = true
	}
	declare := func(typ string, s *ast.StructType) {
		for _, f := range s.Fields.List {
			for _, name := range f.Names {
				add(typ, name.Name)
			}
			if len(f.Names) == 0 {
				embedded[typ] = append(embedded[typ], typeName(f.Type))
			}
		}
	}
	for _, file := range files {
		for _, d := range file.Decls {
			within := "" // a function: several have a type of the same name
			if f, ok := d.(*ast.FuncDecl); ok {
				within = f.Name.Name + " "
				if f.Recv != nil {
					add(typeName(f.Recv.List[0].Type), f.Name.Name)
				}
			}
			ast.Inspect(d, func(n ast.Node) bool {
				if spec, ok := n.(*ast.TypeSpec); ok {
					if s, ok := spec.Type.(*ast.StructType); ok {
						declare(within+spec.Name.Name, s)
					}
				}
				return true
			})
		}
	}
	var look func(outer, typ string, above map[string]bool)
	look = func(outer, typ string, above map[string]bool) {
		for _, inner := range embedded[typ] {
			names := maps.Clone(above)
			for name := range own[inner] {
				if above[name] {
					hidden = append(hidden, outer+"."+inner+"."+name)
				}
				names[name] = true
			}
			look(outer, inner, names)
		}
	}
	for typ := range embedded {
		look(typ, typ, maps.Clone(own[typ]))
	}
	return hidden
}

// typeName returns the name of a type of the package, or "" for others.
func typeName(e ast.Expr) string {
	if star, ok := e.(*ast.StarExpr); ok {
		e = star.X
	}
	if name, ok := e.(*ast.Ident); ok {
		return name.Name
	}
	return ""
}
